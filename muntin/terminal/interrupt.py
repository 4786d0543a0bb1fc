"""Ctrl-C as a wish that can be granted in its own time."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """An event that Ctrl-C, or a request to end, sets while the block runs.

    A second one ends the process as Ctrl-C does anywhere. Used in the main thread, after Spark has
    started: Spark takes Ctrl-C for itself, to cancel what it is doing.
    """
    asked = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {one: signal.signal(one, note) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
