"""Measures the CPU time, wall time and memory that work takes in this process and Spark's."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from muntin.errors import RunError
from muntin.measure.progress import Steps, show_spark_start
from muntin.spark.engine.session_kind import jvm_pid
from muntin.spark.session import MEMORY, local_session

try:
    import psutil
except ImportError:  # it is in the extra `bench`
    psutil = None

# A run longer than this is not repeated: its time is far above the noise.
LONG_S = 30.0
# Processes are idle if they take at most this share of a core over this many seconds.
_IDLE = 0.1
_LOOK_S = 0.25
# Part of the command line of Spark's daemon, which forks the Python workers.
_DAEMON = ".daemon"
# The last known CPU seconds of each worker. Spark ends workers that are idle for a minute, and the
# daemon's own figures do not include them.
_WORKERS: dict[tuple[int, float], float] = {}


@dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU seconds of the JVM, its Python workers and the driver; wall seconds."""

    cpu_s: float
    wall_s: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(cpu_s=self.cpu_s + other.cpu_s, wall_s=self.wall_s + other.wall_s)

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(cpu_s=self.cpu_s - other.cpu_s, wall_s=self.wall_s - other.wall_s)


def check_installed() -> None:
    """Raises an error if psutil is missing. Call it before Spark takes seconds to start."""
    if psutil is None:
        raise RunError(
            "CPU and memory of Spark's processes are measured with psutil, which is not installed: "
            "pip install 'muntin[bench]', or pip install psutil"
        )


def cost_so_far() -> Cost:
    """Returns the cost so far; the difference of two is the cost between them."""
    return Cost(cpu_s=_cpu_seconds(), wall_s=time.monotonic())


def measured_session(memory: str = MEMORY, more: Mapping[str, str] | None = None) -> SparkSession:
    """Starts a local session; raises an error first if psutil is missing."""
    check_installed()
    with show_spark_start():
        return local_session(memory, more)


def measure(work: Callable[[], object]) -> Cost:
    """Runs `work` once and returns its cost."""
    before = cost_so_far()
    work()
    return cost_so_far() - before


def settle(at_most_s: float = 5.0) -> None:
    """Waits until the processes are idle, because the JVM goes on compiling after a run."""
    until = time.monotonic() + at_most_s
    while time.monotonic() < until:
        before = _cpu_seconds()
        time.sleep(_LOOK_S)
        if _cpu_seconds() - before < _IDLE * _LOOK_S:
            return


def measure_in_turns(
    runs: Mapping[str, Callable[[], Cost]],
    bar: Steps,
    *,
    warm_up_turns: int,
    repeats: int,
    earlier: Mapping[str, Cost] | None = None,
) -> dict[str, Cost]:
    """Returns the cheapest cost of each run by name, after some turns that warm up.

    Runs take turns, so that all of them run under the same conditions, and each starts when the
    processes are idle. A long run has one turn only, or none if `earlier` has the cost of a long
    run. `bar` has a step for each turn of each run.
    """
    costs = {name: [cost] for name, cost in (earlier or {}).items() if cost.wall_s >= LONG_S}
    long = set(costs)
    for turn in range(-warm_up_turns, repeats):
        label = "warming up" if turn < 0 else f"run {turn + 1} of {repeats}"
        for name, run in runs.items():
            with bar.step(f"{name}, {label}"):
                if name in long:
                    continue
                settle()
                cost = run()
                if cost.wall_s >= LONG_S:
                    long.add(name)
                if turn >= 0 or name in long:
                    costs.setdefault(name, []).append(cost)
    return {name: cheapest(turns) for name, turns in costs.items()}


def cheapest(costs: Iterable[Cost]) -> Cost:
    """Returns the cost of the run that was disturbed least."""
    return min(costs, key=lambda cost: cost.cpu_s)


def private_memory() -> tuple[int, int]:
    """Returns the bytes of memory of this process and of Spark's Python workers, without pages
    that processes share."""
    driver, *others = _processes()
    workers = 0
    for process in others:
        with suppress(psutil.NoSuchProcess):
            if not process.name().startswith("java"):
                workers += process.memory_full_info().uss
    return int(driver.memory_full_info().uss), workers


class Peak:
    """The peak resident memory in bytes. Pages that two processes share count twice."""

    def __init__(self) -> None:
        self.total = 0
        self.jvm = 0
        self.python = 0

    def sample(self) -> None:
        """Takes a sample."""
        jvm = python = 0
        for process in _processes():
            try:
                resident, name = process.memory_info().rss, process.name()
            except psutil.NoSuchProcess:
                continue
            if name.startswith("java"):
                jvm += resident
            else:
                python += resident
        self.total = max(self.total, jvm + python)
        self.jvm, self.python = max(self.jvm, jvm), max(self.python, python)


@contextmanager
def memory(every_s: float = 0.1) -> Iterator[Peak]:
    """Samples memory while the block runs, and yields the peak."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(every_s):
            peak.sample()

    watcher = threading.Thread(target=watch, daemon=True)
    peak.sample()
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
        peak.sample()


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and its descendants, including ended ones."""
    total = 0.0
    daemons, alive = set(), set()
    for process in _processes():
        try:
            times = process.cpu_times()
            spent = times.user + times.system + times.children_user + times.children_system
            if process.ppid() in daemons:
                worker = (process.pid, process.create_time())
                _WORKERS[worker] = spent
                alive.add(worker)
            elif _DAEMON in " ".join(process.cmdline()):
                daemons.add(process.pid)
        except psutil.NoSuchProcess:
            continue
        total += spent
    return float(total + sum(_WORKERS[worker] for worker in _WORKERS.keys() - alive))


def _processes() -> list[Any]:
    """Returns the driver, its JVM, and the JVM's Python workers; parents come before children.

    The JVM is a child of the driver, or was started before it: `spark-submit` does so.
    """
    check_installed()
    driver = psutil.Process()
    processes = [driver, *driver.children(recursive=True)]
    pid = jvm_pid()
    if pid is not None and pid not in {process.pid for process in processes}:
        jvm = psutil.Process(pid)
        processes += [jvm, *jvm.children(recursive=True)]
    return list(dict.fromkeys(processes))
