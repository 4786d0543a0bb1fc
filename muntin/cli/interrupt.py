"""Handles Ctrl-C: most commands end at once; a stream ends after its batch."""

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
# How long running work may take to end and clean up, and how often this is checked.
_GRACE_S = 5.0
_INTERVAL_S = 0.2


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
            _exit_now()
        self.asked = True
        if not _has_spark() and _is_in_call(frame):
            # Spark is starting: there is nothing to clean up yet.
            _exit_now()
        threading.Thread(target=_cancel_jobs, daemon=True).start()
        signal.setitimer(signal.ITIMER_REAL, _INTERVAL_S, _INTERVAL_S)
        self._raise_outside_calls(frame)

    def on_tick(self, number: int, frame: FrameType | None) -> None:
        """Handles SIGALRM, from Ctrl-C on."""
        self._ticks += 1
        if self._ticks * _INTERVAL_S > _GRACE_S:
            _exit_now()
        # An error that unwinds, such as that of the cancelled job, ends the command as well.
        if sys.exc_info()[1] is None:
            self._raise_outside_calls(frame)

    def _raise_outside_calls(self, frame: FrameType | None) -> None:
        if not self._raised and not _is_in_call(frame):
            self._raised = True
            raise KeyboardInterrupt


@contextmanager
def handle_interrupts() -> Iterator[Interrupt]:
    """Makes Ctrl-C end the block. Does nothing outside of the main thread."""
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
def stop_event() -> Iterator[threading.Event]:
    """Yields an event that Ctrl-C or SIGTERM sets while the block runs.

    A second Ctrl-C does what it did before the block. Call this in the main thread.
    """
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if not asked.is_set():
            asked.set()
        elif callable(handler := before[signal.SIGINT]):
            handler(number, frame)
        else:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_spark() -> bool:
    return getattr(SparkContext._active_spark_context, "_jsc", None) is not None


def _is_in_call(frame: FrameType | None) -> bool:
    """Whether the main thread waits for an answer from the JVM."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.f_back
    return False


def _cancel_jobs() -> None:
    context = SparkContext._active_spark_context
    if context is not None and _has_spark():
        # Spark may be ending already.
        with suppress(Exception):
            context.cancelAllJobs()


def _exit_now() -> None:
    """Kills the JVM, which may hang while it starts, and ends this process."""
    if sys.stderr.isatty():
        # A progress bar hides the cursor.
        sys.stderr.write("\r\x1b[2K\x1b[?25h")
    print("muntin: stopped", file=sys.stderr, flush=True)
    jvm = getattr(SparkContext._gateway, "proc", None)
    if jvm is not None:
        jvm.terminate()
        try:
            jvm.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            jvm.kill()
    os._exit(INTERRUPTED)
