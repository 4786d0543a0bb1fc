"""`udw`: Cutty beside other ways to share slices (figures 8 and 9 of the paper).

The stream is like that of the DEBS 2012 challenge: energy readings of a machine at 100 Hz, and
sensor bits that flip now and then. Measured are combines, stored partials and throughput of one
core.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.report import Experiment, Figure, Lines, Target
from benchmarks.papers.udw_runtime import per_second
from muntin.aggregates.aggregate import Component
from muntin.aggregates.monoids import ADD_FLOAT
from muntin.model.data_windows import CountWindow
from muntin.runtime.columns.partials import Int64s, PartialColumn
from muntin.runtime.data_windows.cutter import Cutter
from muntin.runtime.data_windows.discretizer import CountDiscretizer
from muntin.runtime.data_windows.window_stream import PreviousRecord, Records, WindowEdges
from muntin.techniques import cutty
from muntin.techniques.table import fold

QUERIES = (1, 10, 20, 40, 60, 80, 100)
_ROWS_AT_ONCE = 100_000
_ENERGY = Component(kind="float_sum", argument="energy")
# The most records to time the whole runtime on.
_RUNTIME_RECORDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to share: where slices start, and how they are stored."""

    name: str
    store: str
    # Returns further starts of slices, beside begins of windows, from their ends and the row count.
    edges: Callable[[Int64s, int], Int64s]


def _ends(ends: Int64s, rows: int) -> Int64s:
    return ends


def _rows(ends: Int64s, rows: int) -> Int64s:
    return np.arange(rows)


def _none(ends: Int64s, rows: int) -> Int64s:
    return np.empty(0, np.int64)


PAIRS, PAIRS_OURS = "Pairs, eager store", "Pairs, our store"
REACTIVE = "Reactive Aggregator"
CUTTY, OURS = "Cutty, eager store", "Cutty, our store"
WAYS = (
    Way(name="Pairs", store="lazy", edges=_ends),
    Way(name=PAIRS, store="flat_fat", edges=_ends),
    Way(name=PAIRS_OURS, store="suffixes", edges=_ends),
    Way(name=REACTIVE, store="flat_fat", edges=_rows),
    Way(name="Cutty, lazy store", store="lazy", edges=_none),
    Way(name=CUTTY, store="flat_fat", edges=_none),
    Way(name=OURS, store="suffixes", edges=_none),
)


@dataclass(frozen=True, kw_only=True)
class WayFigures:
    """The figures of one way for some queries; `folds` are combines into the open slice."""

    combines: int
    folds: int
    stored: int
    # The most stored partials beyond the number of open windows.
    beyond: int
    per_second: float


# Figures by windows, way and number of queries.
Found = dict[tuple[str, str, int], WayFigures]


def run(*, records: int, queries: Sequence[int] = QUERIES, seed: int = 12) -> Experiment:
    """Measures all ways; a million records take about a minute, and more to compile at first."""
    rng = np.random.default_rng(seed)
    energy = 8_000 + 500 * np.sin(np.arange(records) / 5_000) + rng.normal(0, 40, records)
    found: Found = {}
    windows = _periodic(rng, max(queries))
    for count in queries:
        marks = _count_marks(windows[:count], records)
        for way in WAYS:
            found["periodic", way.name, count] = _measure(way, energy, marks)
        found["periodic", "naive", count] = _naive(windows[:count], energy)
    flips = [_flips(rng, records) for _ in range(max(queries))]
    for count in queries:
        marks = [_session_marks(bit, records) for bit in flips[:count]]
        for way in WAYS[3:]:
            found["sessions", way.name, count] = _measure(way, energy, marks)
    speed = per_second(min(records, _RUNTIME_RECORDS), max(queries))
    targets = make_targets(found, max(queries), speed)
    figures = make_figures(found, records)
    return Experiment(title="User-defined windows", figures=figures, targets=targets)


def make_figures(found: Found, records: int) -> list[Figure]:
    """Returns combines, stored partials and throughput by the number of queries (figures 8, 9)."""
    figures = []
    for windows in dict.fromkeys(windows for windows, _, _ in found):
        for field, up in (
            ("combines", "combines"),
            ("stored", "partials stored"),
            ("beyond", "partials beyond open windows"),
            ("per_second", "records per second"),
        ):
            lines: Lines = {}
            for (kind, way, count), measured in found.items():
                if kind == windows:
                    lines.setdefault(way, []).append((count, getattr(measured, field)))
            name, title = f"udw_{windows}_{field}", f"Cutty: {windows}, {records:,} records"
            figures.append(Figure(name=name, title=title, across="queries", up=up, lines=lines))
    return figures


def make_targets(found: Found, queries: int, speed: float) -> list[Target]:
    """Returns the targets for periodic windows of `queries` queries, and for the runtime's speed.

    Cutty has our store. Where the paper's own eager store, a tree, has another figure, that is a
    target, too.
    """
    ours, eager, reactive, pairs, pairs_ours = (
        found["periodic", way, queries] for way in (OURS, CUTTY, REACTIVE, PAIRS, PAIRS_OURS)
    )
    combines: tuple[tuple[str, WayFigures, WayFigures, dict[str, float]], ...] = (
        ("combines, Cutty / Pairs with the paper's eager store", ours, pairs, {"most": 0.6}),
        ("the same, the paper's eager store for both", eager, pairs, {"most": 0.6}),
        ("the same, our store for both", ours, pairs_ours, {"most": 0.6}),
        ("combines, Reactive Aggregator / Cutty", reactive, ours, {"least": 100}),
        ("the same, Cutty with the paper's eager store", reactive, eager, {"least": 100}),
    )
    return [
        *(
            Target(name=name, found=one.combines / other.combines, **bound)
            for name, one, other, bound in combines
        ),
        Target(name="stored slices beyond live windows, Cutty", found=ours.beyond, most=1),
        Target(name="the same, with the paper's eager store", found=eager.beyond, most=1),
        Target(name="records a second, whole runtime, all built-in kinds", found=speed, least=1e6),
    ]


def _periodic(rng: np.random.Generator, count: int) -> list[CountWindow]:
    """Draws sizes of 20,000 to 80,000 rows, slides of 1,000 to 20,000, by tens (section 7.2)."""
    sizes, slides = rng.integers(2_000, 8_001, count) * 10, rng.integers(100, 2_001, count) * 10
    pairs = zip(sizes.tolist(), slides.tolist(), strict=True)
    return [CountWindow(size, slide) for size, slide in pairs]


def _flips(rng: np.random.Generator, records: int) -> Int64s:
    """Draws where a sensor's bit flips: every ten seconds to every quarter hour (section 7.3)."""
    mean = 10 ** rng.uniform(3, 5)
    gaps = rng.geometric(1 / mean, int(2 * records / mean) + 10)
    rows = np.cumsum(gaps)
    flips: Int64s = rows[rows < records]
    return flips


Batches = list[WindowEdges]


def _count_marks(windows: Sequence[CountWindow], records: int) -> list[Batches]:
    """Returns the begins and ends of count windows in each batch, from the discretizer itself."""
    return [
        [stream.feed(batch) for batch in _batches(records)]
        for stream in (CountDiscretizer(window) for window in windows)
    ]


def _session_marks(flips: Int64s, records: int) -> Batches:
    """Returns windows from each flip to the next."""
    batches = []
    is_open = False
    for low in range(0, records, _ROWS_AT_ONCE):
        high = min(low + _ROWS_AT_ONCE, records)
        begins = flips[(flips >= low) & (flips < high)] - low
        reads = begins if is_open else begins[1:]
        is_open = is_open or len(begins) > 0
        homes = np.zeros(len(reads), np.int64)
        batches.append(
            WindowEdges(begins=begins, starts=begins, reads=reads, ends=reads, stretches=homes)
        )
    return batches


def _batches(records: int) -> Iterator[Records]:
    for low in range(0, records, _ROWS_AT_ONCE):
        times = np.arange(low, min(low + _ROWS_AT_ONCE, records)) * 10_000
        yield Records(
            firsts=np.zeros(1 if low == 0 else 0, np.int64),
            times=times,
            lasts=times,
            conditions={},
            measures={},
            columns={},
            before=PreviousRecord(lasts=np.zeros(2 if low == 0 else 1, np.int64), met={}),
        )


def _measure(way: Way, energy: NDArray[np.float64], marks: Sequence[Batches]) -> WayFigures:
    tally = np.zeros(2, np.int64)
    counting = Cutter({_ENERGY: (ADD_FLOAT, np.float64)}, len(marks), store=way.store, tally=tally)
    _drive(counting, way, energy, marks)
    folds = int(counting.state[cutty.FOLDS])
    fastest = float("inf")
    for _ in range(2):
        plain = Cutter({_ENERGY: (ADD_FLOAT, np.float64)}, len(marks), store=way.store)
        before = time.perf_counter()
        _drive(plain, way, energy, marks)
        fastest = min(fastest, time.perf_counter() - before)
    return WayFigures(
        combines=int(tally.sum()) - folds,
        folds=folds,
        stored=int(counting.state[cutty.MOST_STORED]),
        beyond=int(counting.state[cutty.MOST_BEYOND]),
        per_second=len(energy) / fastest,
    )


def _drive(cutter: Cutter, way: Way, energy: NDArray[np.float64], marks: Sequence[Batches]) -> None:
    for number, low in enumerate(range(0, len(energy), _ROWS_AT_ONCE)):
        batch = [batches[number] for batches in marks]
        values = energy[low : low + _ROWS_AT_ONCE]
        ends = np.concatenate([query.reads for query in batch])
        edges = way.edges(ends[ends < len(values)], len(values))
        columns = {_ENERGY: PartialColumn(scalars=(values,))}
        cutter.read(np.zeros(len(values), np.int64), batch, columns, edges)


def _naive(windows: Sequence[CountWindow], energy: NDArray[np.float64]) -> WayFigures:
    """Computes every window of every query from its records."""
    combines = 0
    before = time.perf_counter()
    for window in windows:
        lows = np.arange(0, len(energy) - window.size + 1, window.slide)
        if len(lows):
            fold(ADD_FLOAT, energy, lows, lows + window.size, technique="recalc")
        combines += len(lows) * (window.size - 1)
    spent = time.perf_counter() - before
    stored = sum(window.size for window in windows)
    speed = len(energy) / spent
    return WayFigures(combines=combines, folds=0, stored=stored, beyond=stored, per_second=speed)
