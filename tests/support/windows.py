"""Windows of small numbers of microseconds, which users do not write, and drawings are made of."""

from muntin.model.data_windows import Session
from muntin.model.windows import Window


def tumbling(size: int, *, offset: int = 0) -> Window:
    return Window(size=size, slide=size, offset=offset)


def hopping(size: int, *, every: int, offset: int = 0) -> Window:
    return Window(size=size, slide=every, offset=offset)


def session(gap: int) -> Session:
    return Session(gap)
