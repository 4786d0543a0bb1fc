"""`muntin calibrate`: what the things that a plan does cost on this machine.

Trees that differ in one thing run over the same events. What one costs more than another, by how
much more of that thing it does, is its price.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE
from rich.table import Table

from muntin.bench.events import readings, stored
from muntin.bench.machine import machine
from muntin.bench.measure import cheapest, measure
from muntin.bench.progress import Steps
from muntin.model.aggregate import ADD_FLOAT, max_
from muntin.model.plan import Edges, Node, Plan, Slicing, Tree
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import Query
from muntin.model.time import DAY, HOUR, MINUTE, SECOND
from muntin.model.window import Window
from muntin.share.operations import steady_operations
from muntin.spark.batch import run
from muntin.spark.relations import Relations
from muntin.techniques.table import fold

# Half as many events as cells of a key and a second: nearly all of them are a partial each.
_KEYS = 100
_RATE = 50.0
_TOP = max_("temp")
_SECONDS = Window(size=SECOND, slide=SECOND)
_HOURS = Window(size=HOUR, slide=HOUR)
_DAYS = Window(size=DAY, slide=DAY)
# Hops of plain Spark that differ in how often an event is copied.
_FEW_COPIES = Window(size=2 * MINUTE, slide=MINUTE)
_MANY_COPIES = Window(size=12 * MINUTE, slide=MINUTE)
# A fold to time a combine with: windows of so many values.
_VALUES = 1 << 20
_HELD = 256


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Prices of this machine, and how long the combine takes that they are counted in."""

    prices: Prices
    combine_ns: float
    events: int
    partials: int

    def table(self) -> Table:
        """Each price beside the shipped one, and in nanoseconds of CPU."""
        table = Table(
            box=SIMPLE,
            title=f"{self.events:,} events, {self.partials:,} partials; {machine()['cores']} cores",
            caption="in combines; ns are of CPU on all cores together",
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("price")
        for column in ("shipped", "here", "ns"):
            table.add_column(column, justify="right")
        shipped = asdict(SHIPPED)
        for name, price in asdict(self.prices).items():
            table.add_row(
                name, f"{shipped[name]:.0f}", f"{price:.1f}", f"{price * self.combine_ns:.0f}"
            )
        return table


def calibrate(session: SparkSession, *, events: int, repeats: int) -> Calibration:
    """Measure every price; a run of each warms up."""
    with (
        TemporaryDirectory(prefix="muntin-calibrate-") as folder,
        Steps(2 + 7 * (1 + repeats)) as bar,
    ):
        with bar.step(f"making {events:,} events"):
            data = stored(readings(session, events, _KEYS, _RATE), Path(folder, "events"))
        with bar.step("counting partials"):
            partials = _slices(data)
        bench = _Bench(data=data, bar=bar, repeats=repeats)
        started = bench.cpu("starting", _plan(_HOURS, _DAYS, cut=_HOURS), limit=1)
        cut = bench.cpu("events", _plan(_HOURS, _DAYS, cut=_HOURS))
        handed = bench.cpu("partials", _plan(_HOURS, _DAYS, cut=_SECONDS))
        kept = bench.cpu("factor window", _plan(_HOURS, _DAYS, cut=_SECONDS, via=_SECONDS))
        given = bench.cpu("answers", _plan(_SECONDS, _DAYS, cut=_SECONDS))
        few, many = (bench.copies(window) for window in (_FEW_COPIES, _MANY_COPIES))
    unit = combine_s()
    return Calibration(
        prices=Prices(
            event=_price((cut - started) / events, unit, SHIPPED.event),
            # Both windows combine each partial once.
            partial=_price((handed - cut) / partials - 2 * unit, unit, SHIPPED.partial),
            combine=1.0,
            answer=_price((given - handed) / partials, unit, SHIPPED.answer),
            kept=_price((kept - handed) / partials, unit, SHIPPED.kept),
            copy=_price(
                (many - few) / (events * (_MANY_COPIES.overlap - _FEW_COPIES.overlap)),
                unit,
                SHIPPED.copy,
            ),
        ),
        combine_ns=unit * 1e9,
        events=events,
        partials=partials,
    )


def combine_s() -> float:
    """CPU seconds of one compiled combine, by folding long windows of floats."""
    values = np.random.default_rng(7).random(_VALUES)
    lows = np.arange(_VALUES - _HELD, dtype=np.int64)
    spent = []
    for _ in range(5):
        begun = time.process_time()
        fold(ADD_FLOAT, values, lows, lows + _HELD)
        spent.append(time.process_time() - begun)
    return min(spent) / len(lows) / steady_operations("avg")


def _price(seconds: float, unit: float, shipped: float) -> float:
    """A price in combines; the shipped one where noise hides what a thing costs."""
    return round(seconds / unit, 1) if seconds > 0 else shipped


def _plan(*windows: Window, cut: Window, via: Window | None = None) -> Plan:
    """A query for each window, from slices that are cut as asked, and through a factor window."""
    queries = [
        Query(name=str(window), window=window, aggregates={"top": _TOP}, keys=["device"], time="ts")
        for window in windows
    ]
    nodes = [Node(window=via, aggregates=(_TOP,))] if via is not None else []
    nodes += [
        Node(window=query.window, aggregates=(_TOP,), parent=via, queries=(query.name,))
        for query in queries
        if isinstance(query.window, Window)
    ]
    slicing = Slicing(edges=(Edges(period=cut.slide),), rate=SECOND / cut.slide)
    tree = Tree(family=queries[0].family, slicing=slicing, nodes=tuple(nodes))
    return Plan(strategy="calibrate", trees=(tree,), queries=tuple(queries), rate=_RATE, keys=_KEYS)


def _slices(data: DataFrame) -> int:
    """How many seconds of a device hold an event."""
    return data.selectExpr("device", "date_trunc('second', ts) AS second").distinct().count()


@dataclass(frozen=True, kw_only=True)
class _Bench:
    data: DataFrame
    bar: Steps
    repeats: int

    def cpu(self, name: str, plan: Plan, *, limit: int | None = None) -> float:
        """CPU seconds of all answers of a plan, the least of several runs."""
        data = self.data if limit is None else self.data.limit(limit)

        def work() -> None:
            with run(plan, data) as results:
                _discard(results.together())

        return self._least(name, work)

    def copies(self, window: Window) -> float:
        """CPU seconds of plain Spark on a hopping window."""
        query = Query(name="q", window=window, aggregates={"top": _TOP}, keys=["device"], time="ts")

        def work() -> None:
            _discard(Relations(self.data, [query]).check(query))

        return self._least(f"{window.overlap:.0f} copies", work)

    def _least(self, name: str, work: Callable[[], None]) -> float:
        with self.bar.step(f"{name}: warming up"):
            work()
        costs = []
        for number in range(self.repeats):
            with self.bar.step(f"{name}: run {number + 1} of {self.repeats}"):
                costs.append(measure(work))
        return cheapest(costs).cpu_s


def _discard(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()
