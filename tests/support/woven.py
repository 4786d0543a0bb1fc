"""The windows of the examples in the paper on Weave Share, in seconds."""

from collections.abc import Iterable

from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.optimizer.weave_share.groups import Group


def window(size: int, slide: int) -> Window:
    """A window of so many seconds."""
    return Window(size=size * SECOND, slide=slide * SECOND)


A, B, C = window(16, 4), window(10, 5), window(8, 4)


def sets(groups: Iterable[Group]) -> set[frozenset[Window]]:
    """Which windows are together."""
    return {frozenset(group.windows) for group in groups}
