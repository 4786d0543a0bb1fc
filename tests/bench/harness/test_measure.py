import subprocess
import sys
import time

from muntin.bench.harness.measure import Cost, cheapest, measure, memory, settle


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


def test_settling_waits_for_what_is_busy_and_not_for_ever():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        begun = time.monotonic()
        settle(at_most_s=1.0)
        assert time.monotonic() - begun >= 1.0
    finally:
        busy.kill()
        busy.wait()
