"""Measures CPU, wall time and memory of a piece of work, in Spark's processes and this one."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from muntin.errors import RunError
from muntin.spark.engine.jvm import jvm_pid

try:
    import psutil
except ImportError:  # the extra `bench` brings it
    psutil = None

# Processes are idle if they take at most this share of a core over this many seconds.
_IDLE = 0.1
_LOOK_S = 0.25
# What stands in the command of Spark's daemon, which forks its Python workers.
_DAEMON = ".daemon"
# The CPU seconds of each worker when it was last looked at. Spark ends those that are idle for a
# minute, and its daemon does not count what they have spent.
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
    """Raises an error without psutil; called before Spark takes its seconds to start."""
    if psutil is None:
        raise RunError(
            "CPU and memory of Spark's processes are measured with psutil, which is not installed: "
            "pip install 'muntin[bench]', or pip install psutil"
        )


def so_far() -> Cost:
    """Returns the cost so far; the difference of two is the cost between them."""
    return Cost(cpu_s=_cpu_seconds(), wall_s=time.monotonic())


def measure(work: Callable[[], object]) -> Cost:
    """Runs `work` once and returns its cost."""
    before = so_far()
    work()
    return so_far() - before


def settle(at_most_s: float = 5.0) -> None:
    """Waits until the processes are idle, since the JVM goes on compiling after a run."""
    until = time.monotonic() + at_most_s
    while time.monotonic() < until:
        before = _cpu_seconds()
        time.sleep(_LOOK_S)
        if _cpu_seconds() - before < _IDLE * _LOOK_S:
            return


def cheapest(costs: Iterable[Cost]) -> Cost:
    """Returns the cost of the run that was disturbed least."""
    return min(costs, key=lambda cost: cost.cpu_s)


def resident() -> tuple[int, int]:
    """Returns the memory, in bytes, of this process and of the JVM's Python workers, where it can
    be told without the pages that they share."""
    driver, *others = _processes()
    workers = 0
    for process in others:
        with suppress(psutil.NoSuchProcess):
            if not process.name().startswith("java"):
                workers += process.memory_full_info().uss
    return int(driver.memory_full_info().uss), workers


class Peak:
    """The peak resident memory in bytes; pages that processes share count twice."""

    def __init__(self) -> None:
        self.total = 0
        self.jvm = 0
        self.python = 0

    def sample(self) -> None:
        """Takes one sample."""
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
    """Samples memory while the block runs."""
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
    """Returns the CPU of this process and its descendants.

    Ended ones count in their parents, and workers of Spark with what they were last seen to have.
    """
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
