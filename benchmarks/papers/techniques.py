"""`techniques`: time, tail latency and memory of a slide by each technique."""

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from benchmarks.harness.clocks import calibrate, cpu_seconds, cycles
from benchmarks.harness.report import Experiment, Figure, Lines, Target
from muntin.aggregates.monoids import ADD, MAX, Monoid
from muntin.techniques.aggregator import Aggregator
from muntin.techniques.kernels.compile import bind
from muntin.techniques.kernels.drivers import push, slide
from muntin.techniques.table import TECHNIQUES, Technique

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import load, query, store

# Floats under `ADD`: its inverse is timed, although it is inexact for floats.
MONOIDS: dict[str, Monoid] = {"sum": ADD, "max": MAX}
# The window of the targets, in slices.
USUAL = 4096
# These read the whole window for every answer.
NAIVE = ("recalc", "panes")
SLICES = "slices in the window"
PERCENTILES = (50, 99.9, 99.99, 100)
# A measurement is short, so that a busy machine leaves it a core for all of it.
SHORT_NS = 4_000_000


def run(*, quick: bool = False) -> Experiment:
    """Measures everything; takes minutes, or with `quick` ten seconds, with smaller windows.

    The first run on a machine also compiles, for a minute or two.
    """
    repeats = 3 if quick else 7
    sizes = [1, 64, USUAL] if quick else [4**k for k in range(11)]
    longest = 1 << (14 if quick else 20)
    with Progress(transient=True) as bar:
        one = _one_window(bar, sizes, repeats)
        many = _many_windows(bar, repeats, quick)
        memory, tails = Lines(), Lines()
        for technique in bar.track(_streaming_techniques(), description="latency"):
            if technique.name not in NAIVE:
                tails[technique.name] = _latency(technique, longest, repeats)
            memory[technique.name] = [(size, _memory(technique, size)) for size in sizes]
        targets = list(_targets(many, tails, bar, 5 if quick else 40))
    figures = [
        _figure("11", "max, one window", SLICES, "ns per slide", one["max"]),
        _figure("11_sum", "sum, one window", SLICES, "ns per slide", one["sum"]),
        _figure("12", "many windows", "windows answered", "slides per second", many),
        _figure("13", "memory of one window", SLICES, "bytes", memory),
        _figure("14", f"latency, {longest:,} slices", "percentile", "ns", tails),
    ]
    return Experiment(title="Techniques", figures=figures, targets=targets)


def _figure(number: str, title: str, across: str, up: str, lines: Lines) -> Figure:
    title = f"Incremental MQO, figure {number[:2]}: {title}"
    name, log_x = f"figure_{number}", across != "percentile"
    return Figure(name=name, title=title, across=across, up=up, lines=lines, log_x=log_x)


def _technique_pairs() -> list[tuple[Technique, str]]:
    return [
        (technique, aggregate)
        for technique in TECHNIQUES.values()
        for aggregate, monoid in MONOIDS.items()
        if technique.allows(monoid)
    ]


def _streaming_techniques() -> list[Technique]:
    return [technique for technique in TECHNIQUES.values() if technique.name != "recalc"]


def _usual(technique: Technique) -> str:
    return "max" if technique.allows(MAX) else "sum"


# --- one window


def _one_window(bar: Progress, sizes: list[int], repeats: int) -> dict[str, Lines]:
    """Returns the nanoseconds per slide of each technique, by aggregate and window size."""
    works = [(*pair, size) for pair in _technique_pairs() for size in sizes]
    best = dict.fromkeys(works, float("inf"))
    # In turns, so that a busy neighbour does not spoil all repeats of one technique.
    for work in bar.track(works * repeats, description="one window"):
        technique, aggregate, size = work
        best[work] = min(best[work], _single(technique, MONOIDS[aggregate], size))
    figures: dict[str, Lines] = {name: {} for name in MONOIDS}
    for (technique, aggregate, size), ns in best.items():
        figures[aggregate].setdefault(technique.name, []).append((size, ns))
    return figures


def _single(technique: Technique, monoid: Monoid, size: int) -> float:
    lows, highs = _ranges(size, naive=technique.name in NAIVE)
    values = np.random.default_rng(0).random(int(highs[-1]))
    answers = np.empty(len(lows))
    kernel = technique.kernel(monoid)
    work = partial(kernel, values, lows, highs, answers)
    work()
    return 1e9 * cpu_seconds(work, repeats=2) / len(lows)


def _ranges(size: int, *, naive: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the ranges of a window that slides by one; a naive one starts full."""
    if naive:
        lows = np.arange(min(max(8, (1 << 22) // size), 1 << 16))
        return lows, lows + size
    highs = np.arange(1, max(1 << 17, 4 * size) + 1)
    return np.maximum(highs - size, 0), highs


# --- many windows


def _many_windows(bar: Progress, repeats: int, quick: bool) -> Lines:
    """Returns the slides per second of one structure, by the windows it answers after each."""
    works = [
        (technique, aggregate, data, queries)
        for technique, aggregate in _technique_pairs()
        if technique.has_many_sizes and technique.name != "recalc"
        for data in (("random", "ascending", "descending") if aggregate == "max" else ("random",))
        for queries in ((1, 10, 100) if quick else (1, 10, 100, 1000))
    ]
    lines: Lines = {}
    for technique, aggregate, data, queries in bar.track(works, description="many windows"):
        speed = _many(technique, MONOIDS[aggregate], data, queries, repeats)
        line = lines.setdefault(f"{technique.name}, {aggregate} of {data}", [])
        line.append((queries, speed))
    return lines


def _many(technique: Technique, monoid: Monoid, data: str, queries: int, repeats: int) -> float:
    sizes = np.linspace(USUAL / queries, USUAL, queries).astype(np.int64)
    algorithm = technique.algorithm_for(monoid)
    memory, cursor = bind(algorithm.start, monoid)(np.empty(0), sizes)
    kernel = bind(slide, monoid, algorithm=algorithm)
    made = 0

    def turn(count: int, sizes: NDArray[np.int64] = sizes) -> int:
        """Returns the CPU nanoseconds of the next `count` slides of the stream."""
        nonlocal cursor, made
        values = _data(data, made, count)
        # Written, not only allocated: the first touch of a page costs more than a slide.
        answers = np.full(count * len(sizes), 0.0)
        before = time.thread_time_ns()
        cursor = kernel(memory, cursor, values, count, sizes, answers)
        made += count
        return time.thread_time_ns() - before

    # Until all windows are full, only the longest is queried.
    turn(2 * USUAL, sizes[-1:])
    count = 8
    while count * queries < 1 << 20 and turn(count) < SHORT_NS:
        count *= 2
    return 1e9 * count / min(turn(count) for _ in range(repeats))


def _data(kind: str, made: int, count: int) -> NDArray[np.float64]:
    if kind == "random":
        return np.random.default_rng(made).random(count)
    rising = np.arange(made, made + count, dtype=np.float64)
    return rising if kind == "ascending" else -rising


# --- latency


def _timed_slides(
    memory: Any, cursor: Any, values: Any, count: int, sizes: Any, answers: Any, ticks: Any
) -> Any:
    """`drivers.slide` of one window, with the ticks of every slide."""
    for index in range(count):
        before = cycles()
        cursor = push(memory, cursor, load(values, index), sizes)
        store(answers, index, query(memory, cursor, min(sizes[0], cursor[1] - cursor[0]), 0))
        ticks[index] = cycles() - before
    return cursor


def _latency(technique: Technique, size: int, repeats: int) -> list[tuple[float, float]]:
    """Returns percentiles of the nanoseconds of single slides; repeats reduce disturbances."""
    monoid = MONOIDS[_usual(technique)]
    clock = calibrate()
    # A flip or a reset comes once in as many slides as the window has slices.
    count = size + size // 4
    values = np.random.default_rng(0).random(2 * size + count)
    window = Aggregator(monoid, [size], technique=technique.name)
    window.insert_many(values[: 2 * size])
    kernel = bind(_timed_slides, monoid, algorithm=technique.algorithm_for(monoid))
    answers, ticks = np.empty(count), np.empty(count, np.int64)
    least = np.full(count, np.iinfo(np.int64).max)
    for _ in range(repeats):
        state = window.save()
        kernel(state.memory, state.cursor, values[2 * size :], count, window.sizes, answers, ticks)
        np.minimum(least, ticks, out=least)
    found = np.percentile(clock.nanoseconds(least), PERCENTILES)
    return list(zip(PERCENTILES, found.tolist(), strict=True))


def _memory(technique: Technique, size: int) -> int:
    """Returns the bytes of a structure for one window."""
    window = Aggregator(MONOIDS[_usual(technique)], [size], technique=technique.name)
    state = window.save()
    return int(sum(array.nbytes for array in state.memory) + 8 * len(state.cursor))


# --- targets


def _running_sum(values: Any, lows: Any, highs: Any, answers: Any) -> None:
    """A sum over all values, which never evicts."""
    total = 0.0
    for index in range(len(values)):
        total += values[index]
        answers[index] = total


def _targets(many: Lines, tails: Lines, bar: Progress, rounds: int) -> Iterator[Target]:
    """Yields ratios of figures measured in turns, so that a busy machine disturbs all alike."""
    lows, highs = _ranges(USUAL, naive=False)
    values, answers = np.random.default_rng(0).random(len(lows)), np.empty(len(lows))
    bounds = {"two_stacks_lite": 2, "daba_lite": 4, "flat_fit": 7, "flat_fat": 45}
    kernels = {name: TECHNIQUES[name].kernel(ADD) for name in ("subtract", *bounds)}
    kernels["running sum"] = numba.njit(_running_sum)
    best = dict.fromkeys(kernels, float("inf"))
    # The first round compiles.
    for number in bar.track(range(1 + rounds), description="targets"):
        for name, kernel in kernels.items():
            spent = cpu_seconds(partial(kernel, values, lows, highs, answers))
            best[name] = min(best[name], spent) if number else best[name]
    subtract = best["subtract"]
    yield Target(name="subtract / running sum", found=subtract / best["running sum"], most=3)
    for name, most in bounds.items():
        yield Target(name=f"{name} / subtract", found=best[name] / subtract, most=most)
    random, descending = (dict(many[f"slick_deque, max of {x}"]) for x in ("random", "descending"))
    name = "slick_deque, 100 windows"
    yield Target(name=f"{name} / 1", found=random[1] / random[100], most=20)
    found = random[100] / descending[100]
    yield Target(name=f"{name}, descending / random", found=found, most=2)
    worst = {name: dict(line)[100] for name, line in tails.items()}
    for name in ("daba", "daba_lite"):
        found = worst["two_stacks"] / worst[name]
        yield Target(name=f"worst latency, two_stacks / {name}", found=found, least=20)
