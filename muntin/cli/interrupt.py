"""Handles Ctrl-C: most commands end at once, a stream ends after its batch."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from pyspark import SparkContext

# The exit code of a command that Ctrl-C ended.
INTERRUPTED = 130
# How long what runs may take to end and to clean up after itself, and how often that is looked at.
_PATIENCE_S = 5.0
_EVERY_S = 0.2


class Interrupt:
    """Ends the main thread by `KeyboardInterrupt`, at a moment when it can clean up.

    A call to Spark that is broken off leaves its connection unusable, and the next call waits for
    an answer that never comes. So Spark's jobs are cancelled from another thread, and
    `KeyboardInterrupt` is raised once the main thread has come back from its call.
    """

    def __init__(self) -> None:
        self.asked = False
        self._raised = False
        self._ticks = 0

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Handles SIGINT."""
        if self.asked and self._raised:
            _exit()
        self.asked = True
        if not _is_running() and _is_in_call(frame):
            # Spark is starting: there is nothing to clean up yet.
            _exit()
        threading.Thread(target=_cancel, daemon=True).start()
        signal.setitimer(signal.ITIMER_REAL, _EVERY_S, _EVERY_S)
        self._raise_outside_calls(frame)

    def on_tick(self, number: int, frame: FrameType | None) -> None:
        """Handles SIGALRM, from Ctrl-C on."""
        self._ticks += 1
        if self._ticks * _EVERY_S > _PATIENCE_S:
            _exit()
        # While an error unwinds, for example that of the cancelled job, it does the same.
        if sys.exc_info()[1] is None:
            self._raise_outside_calls(frame)

    def _raise_outside_calls(self, frame: FrameType | None) -> None:
        if not self._raised and not _is_in_call(frame):
            self._raised = True
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """While the block runs, Ctrl-C ends it; outside of the main thread nothing changes."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    handlers = {signal.SIGINT: interrupt.on_signal, signal.SIGALRM: interrupt.on_tick}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield interrupt
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Returns an event that Ctrl-C or SIGTERM sets while the block runs.

    A second one does what Ctrl-C did before the block. Used in the main thread.
    """
    asked = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        if not asked.is_set():
            asked.set()
        elif callable(interrupted := before[signal.SIGINT]):
            interrupted(number, frame)
        else:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_running() -> bool:
    """Whether Spark has started."""
    return getattr(SparkContext._active_spark_context, "_jsc", None) is not None


def _is_in_call(frame: FrameType | None) -> bool:
    """Whether the main thread waits for an answer of Spark's."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.f_back
    return False


def _cancel() -> None:
    context = SparkContext._active_spark_context
    if context is not None and _is_running():
        # Spark may be ending already.
        with suppress(Exception):
            context.cancelAllJobs()


def _exit() -> None:
    """Kill Spark's process, which may hang while it starts, and end this one."""
    if sys.stderr.isatty():
        # A progress bar hides the cursor.
        sys.stderr.write("\r\x1b[2K\x1b[?25h")
    print("muntin: stopped", file=sys.stderr, flush=True)
    jvm = getattr(SparkContext._gateway, "proc", None)
    if jvm is not None:
        jvm.terminate()
        try:
            jvm.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            jvm.kill()
    os._exit(INTERRUPTED)
