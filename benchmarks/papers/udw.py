"""`bench udw`: Cutty beside other ways to share slices (figures 8 and 9 of the paper).

The stream is like that of the DEBS 2012 challenge: energy readings of a machine at 100 Hz, and
sensor bits that flip now and then. Measured are combines, stored partials and throughput of one
core.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from benchmarks.harness.machine import machine
from benchmarks.harness.targets import Target, as_json, targets_table
from benchmarks.papers.udw_runtime import per_second
from benchmarks.papers.udw_ways import WAYS, Figure, Way, aims
from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.monoids import ADD_FLOAT
from muntin.model.windows.data_windows import CountWindow
from muntin.runtime.columns.partials import Int64s, PartialColumn
from muntin.runtime.data_windows.cutter import Cutter
from muntin.runtime.data_windows.discretizer import CountDiscretizer
from muntin.runtime.data_windows.record_batch import PreviousRecord, Records, WindowEdges
from muntin.techniques import cutty
from muntin.techniques.table import fold

QUERIES = (1, 10, 20, 40, 60, 80, 100)
_ROWS_AT_ONCE = 100_000
_ENERGY = Component(kind="float_sum", argument="energy")
# The most records to time the whole runtime on.
_RUNTIME_RECORDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Report:
    """All figures of a run."""

    records: int
    figures: list[Figure] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Every figure, the targets with `met`, and what they were measured on."""
        return {**asdict(self), "targets": as_json(self.targets), "machine": machine()}

    def tables(self) -> Iterator[Table]:
        """A table for each kind of windows, and one of the targets."""
        for windows in dict.fromkeys(figure.windows for figure in self.figures):
            table = Table(title=f"{windows}, {self.records:,} records", title_justify="left")
            for name in ("way", "queries", "combines", "stored", "beyond", "records/s"):
                table.add_column(name, justify="left" if name == "way" else "right")
            for figure in self.figures:
                if figure.windows == windows:
                    table.add_row(
                        figure.way,
                        f"{figure.queries}",
                        f"{figure.combines:,}",
                        f"{figure.stored:,}",
                        f"{figure.beyond:,}",
                        f"{figure.per_second:,.0f}",
                    )
            yield table
        yield targets_table(self.targets, "figure")


def run(*, records: int, queries: Sequence[int] = QUERIES, seed: int = 12) -> Report:
    """Measures all ways; a million records take about a minute, and more to compile at first."""
    rng = np.random.default_rng(seed)
    energy = 8_000 + 500 * np.sin(np.arange(records) / 5_000) + rng.normal(0, 40, records)
    figures: list[Figure] = []
    windows = _periodic(rng, max(queries))
    for count in queries:
        marks = _count_marks(windows[:count], records)
        figures += [_measured("periodic", way, energy, marks) for way in WAYS]
        figures.append(_naive(windows[:count], energy))
    flips = [_flips(rng, records) for _ in range(max(queries))]
    for count in queries:
        marks = [_session_marks(bit, records) for bit in flips[:count]]
        figures += [_measured("sessions", way, energy, marks) for way in WAYS[3:]]
    speed = per_second(min(records, _RUNTIME_RECORDS), max(queries))
    return Report(records=records, figures=figures, targets=aims(figures, max(queries), speed))


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


def _measured(
    windows: str, way: Way, energy: NDArray[np.float64], marks: Sequence[Batches]
) -> Figure:
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
    return Figure(
        windows=windows,
        way=way.name,
        queries=len(marks),
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
        cutter.feed(len(values), batch, {_ENERGY: PartialColumn(scalars=(values,))}, edges)


def _naive(windows: Sequence[CountWindow], energy: NDArray[np.float64]) -> Figure:
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
    return Figure(
        windows="periodic",
        way="naive",
        queries=len(windows),
        combines=combines,
        folds=0,
        stored=stored,
        beyond=stored,
        per_second=len(energy) / spent,
    )
