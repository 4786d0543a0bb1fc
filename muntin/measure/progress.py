"""Shows the progress of long work on a terminal. In a pipe it shows nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_INTERVAL_S = 0.25


class Steps:
    """A progress bar that names the current step and how many of its Spark tasks are done.

    It is a context manager. The bar is on stderr and disappears when the work is done.
    """

    def __init__(self, total: int) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[tasks]}", style="dim"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, tasks="")
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Steps":
        self._bar.start()
        if not self._bar.disable:
            self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._watcher.is_alive():
            self._watcher.join()
        self._bar.stop()

    @contextmanager
    def step(self, label: str) -> Iterator[None]:
        """Shows one step while the block runs."""
        self._bar.update(self._task, description=label)
        yield
        self._bar.update(self._task, advance=1, tasks="")

    def _watch(self) -> None:
        while not self._done.wait(_INTERVAL_S):
            self._bar.update(self._task, tasks=_spark_tasks())


@contextmanager
def show_spark_start() -> Iterator[None]:
    """Shows that Spark is starting while the block runs."""
    with Steps(1) as bar, bar.step("starting Spark"):
        yield


def _spark_tasks() -> str:
    """Returns how many tasks of the running stages are done; an empty text if no stage runs."""
    context = SparkContext._active_spark_context
    if context is None:
        return ""
    try:
        tracker = context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    except Exception:
        # Spark is starting, stopping or has failed. Reporting that is not up to a progress bar.
        return ""
    running = [stage for stage in stages if stage is not None]
    if not running:
        return ""
    done = sum(stage.numCompletedTasks for stage in running)
    return f"task {done} of {sum(stage.numTasks for stage in running)}"
