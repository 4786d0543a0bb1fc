import itertools
import subprocess
import sys
import time

import psutil
import pytest

from muntin.measure import processes
from muntin.measure import processes as measuring
from muntin.measure.processes import (
    LONG_S,
    Cost,
    cheapest,
    cost_so_far,
    measure,
    measure_in_turns,
    memory,
    settle,
)
from muntin.measure.progress import Steps


def test_cpu_is_counted_apart_from_waiting():
    waiting = measure(lambda: time.sleep(0.2))
    assert waiting.wall_s >= 0.2
    # Far more than 0.2 s where a worker of another test is counted; never less than nothing.
    assert waiting.cpu_s >= 0

    def work():
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    assert measure(work).cpu_s >= 0.15


def test_the_cheapest_has_the_least_cpu():
    few, many = Cost(cpu_s=1.0, wall_s=9.0), Cost(cpu_s=2.0, wall_s=1.0)
    assert cheapest([many, few]) == few


def test_the_peak_of_memory_is_kept_after_it_is_freed():
    with memory(every_s=0.01) as peak:
        block = bytearray(64 << 20)
        block[:: 1 << 12] = b"x" * len(block[:: 1 << 12])
        time.sleep(0.1)
        held = peak.total
        del block
    assert peak.total >= held > 64 << 20


def test_the_cpu_of_other_processes_counts():
    script = "import time\nwhile time.process_time() < 0.3: pass\nprint()\ninput()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    before = cost_so_far().cpu_s
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as busy:
        busy.stdout.readline()
        assert cost_so_far().cpu_s - before >= 0.25
        busy.communicate(b"\n")


def test_settling_waits_for_what_is_busy_and_not_for_ever(monkeypatch):
    # How much a process really gets is up to what else runs on the machine.
    used = itertools.count()
    monkeypatch.setattr(measuring, "_cpu_seconds", lambda: float(next(used)))
    begun = time.monotonic()
    settle(at_most_s=1.0)
    assert time.monotonic() - begun >= 1.0
    monkeypatch.setattr(measuring, "_cpu_seconds", lambda: 7.0)
    begun = time.monotonic()
    settle(at_most_s=120.0)
    assert time.monotonic() - begun < 60.0


# Forks a worker that works for a while, and is never waited for, as Spark's daemon does.
DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.3:
        pass
    print("done", flush=True)
    sys.stdin.readline()
    os._exit(0)
time.sleep(60)
"""


def test_a_worker_that_ends_still_counts():
    command = [sys.executable, "-c", DAEMON, "pyspark.daemon"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as daemon:
        before = cost_so_far().cpu_s
        assert daemon.stdout.readline() == "done\n"
        worked = cost_so_far().cpu_s - before
        assert worked >= 0.25
        (worker,) = psutil.Process(daemon.pid).children()
        daemon.stdin.write("end\n")
        daemon.stdin.flush()
        worker.wait(10)
        assert cost_so_far().cpu_s - before >= worked
        daemon.kill()


@pytest.fixture
def taken(monkeypatch):
    """What ran, and how long it had been waited for an idle machine before."""
    log = []
    monkeypatch.setattr(processes, "settle", lambda: log.append("idle"))
    return log


def costing(log, name, wall_s, *cpu_s):
    """A run that costs so much, the first time and the next."""
    left = list(cpu_s)

    def run():
        log.append(name)
        return Cost(cpu_s=left.pop(0), wall_s=wall_s)

    return run


def test_turns_that_warm_up_do_not_count_and_the_cheapest_of_the_others_does(taken):
    runs = {"a": costing(taken, "a", 1, 1, 5, 4), "b": costing(taken, "b", 1, 2, 2, 9)}
    with Steps(6) as bar:
        costs = measure_in_turns(runs, bar, warm_up_turns=1, repeats=2)
    assert {name: cost.cpu_s for name, cost in costs.items()} == {"a": 4, "b": 2}
    assert taken == ["idle", "a", "idle", "b"] * 3


def test_what_takes_long_has_one_turn_and_that_counts(taken):
    runs = {"a": costing(taken, "a", 1, 1, 5), "long": costing(taken, "long", LONG_S, 99)}
    with Steps(4) as bar:
        costs = measure_in_turns(runs, bar, warm_up_turns=1, repeats=1)
    assert {name: cost.cpu_s for name, cost in costs.items()} == {"a": 5, "long": 99}
    assert taken.count("long") == 1


def test_what_took_long_before_has_no_turn(taken):
    before = {"a": Cost(cpu_s=3, wall_s=1), "long": Cost(cpu_s=98, wall_s=LONG_S)}
    runs = {"a": costing(taken, "a", 1, 5), "long": costing(taken, "long", LONG_S)}
    with Steps(2) as bar:
        costs = measure_in_turns(runs, bar, warm_up_turns=0, repeats=1, earlier=before)
    assert {name: cost.cpu_s for name, cost in costs.items()} == {"a": 5, "long": 98}
