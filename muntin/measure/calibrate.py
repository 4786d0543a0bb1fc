"""`muntin calibrate`: measures the prices of the cost model on this machine.

Trees that differ in one thing run over the same events. The difference of their costs, divided by
how much more of that thing one does, is its price.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from rich.box import SIMPLE
from rich.table import Table

from muntin.aggregates.aggregate import max_
from muntin.aggregates.monoids import ADD_FLOAT
from muntin.measure.events import compute, readings, store
from muntin.measure.processes import measure, measure_in_turns
from muntin.measure.progress import Steps
from muntin.model.passes import Engine, Pass
from muntin.model.plan import Plan
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import Query
from muntin.model.time import DAY, HOUR, MINUTE, SECOND
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import Edges, Slicing, Window
from muntin.model.workload import Workload
from muntin.optimizer.operations import steady_operations
from muntin.spark.batch.results import Results
from muntin.spark.binding.bind_batch import bind_batch
from muntin.spark.binding.relations import Relations
from muntin.techniques.table import fold

# Twice as many pairs of key and second as events, so that nearly every event is a partial.
_KEYS = 100
_RATE = 50.0
_TOP = max_("temp")
_SECONDS = Window(size=SECOND, slide=SECOND)
_HOURS = Window(size=HOUR, slide=HOUR)
_DAYS = Window(size=DAY, slide=DAY)
# How many more components, columns or trees a run has, and windows for these trees.
_MORE = 6
_LONGER = [Window(size=hours * HOUR, slide=hours * HOUR) for hours in range(2, 2 + _MORE)]
# The columns of an event that the slicer reads: time, key and argument.
_COLUMNS = 3
# Hops of plain Spark that differ in how often an event is copied.
_FEW_COPIES = Window(size=2 * MINUTE, slide=MINUTE)
_MANY_COPIES = Window(size=12 * MINUTE, slide=MINUTE)
# Turns before the timed ones, in which the JVM compiles.
_WARM_UP_TURNS = 3
# The fold that times a combine: the number of values, and how many a window has.
_VALUES = 1 << 20
_WINDOW_VALUES = 256


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The prices of this machine, and the data they were measured with."""

    prices: Prices
    events: int
    partials: int

    def table(self) -> Table:
        """Returns each price next to the shipped one, and in nanoseconds of CPU."""
        table = Table(
            box=SIMPLE,
            title=f"{self.events:,} events, {self.partials:,} partials",
            caption="in combines; ns of CPU, all cores",
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("price")
        for column in ("shipped", "here", "ns"):
            table.add_column(column, justify="right")
        shipped = asdict(SHIPPED)
        prices = asdict(self.prices)
        unit = prices.pop("nanoseconds")
        prices.pop("model")
        for name, price in prices.items():
            table.add_row(name, f"{shipped[name]:.0f}", f"{price:.1f}", f"{price * unit:.0f}")
        return table


def calibrate(session: SparkSession, *, events: int, repeats: int) -> Calibration:
    """Measures every price, with all runs in turns."""
    with (
        TemporaryDirectory(prefix="muntin-calibrate-") as folder,
        Steps(2 + len(_WORK) * (_WARM_UP_TURNS + repeats)) as bar,
    ):
        with bar.step(f"making {events:,} events"):
            data = store(readings(session, events, _KEYS, _RATE), Path(folder, "events"))
        with bar.step("counting partials"):
            partials = _count_slices(data)
        runs = {name: partial(measure, partial(work, data)) for name, work in _WORK.items()}
        costs = measure_in_turns(runs, bar, warm_up_turns=_WARM_UP_TURNS, repeats=repeats)
    spent = {name: cost.cpu_s for name, cost in costs.items()}
    unit = combine_s()

    def price(shipped: float, dearer: str, cheaper: str, more: float) -> float:
        return _price((spent[dearer] - spent[cheaper]) / more, unit, shipped)

    packing = spent["sliced partials"] - spent["sliced events"]
    columns = price(SHIPPED.column, "sliced columns", "sliced events", events * _MORE)
    sliced = price(SHIPPED.sliced, "sliced often", "sliced events", events * _MORE)
    copies = events * (_MANY_COPIES.overlap - _FEW_COPIES.overlap)
    return Calibration(
        prices=Prices(
            event=price(SHIPPED.event, "events", "starting", events),
            group=price(SHIPPED.group, "many groups", "few groups", partials),
            component=price(SHIPPED.component, "components", "events", events * _MORE),
            partial=_price(
                (spent["partials"] - spent["events"] - packing) / partials, unit, SHIPPED.partial
            ),
            handed=_price(
                (spent["sliced events"] - spent["starting"]) / events
                - unit * (_COLUMNS * columns + sliced),
                unit,
                SHIPPED.handed,
            ),
            column=columns,
            sliced=sliced,
            folded=price(SHIPPED.folded, "folded", "partials", partials),
            packed=_price(packing / partials, unit, SHIPPED.packed),
            combine=1.0,
            answer=price(SHIPPED.answer, "answers", "partials", partials),
            kept=price(SHIPPED.kept, "factor window", "partials", partials),
            copy=price(SHIPPED.copy, "many copies", "few copies", copies),
            nanoseconds=unit * 1e9,
        ),
        events=events,
        partials=partials,
    )


def combine_s() -> float:
    """Returns the CPU seconds of one compiled combine, by folding long windows of floats."""
    values = np.random.default_rng(7).random(_VALUES)
    lows = np.arange(_VALUES - _WINDOW_VALUES, dtype=np.int64)
    spent = []
    for _ in range(5):
        started = time.process_time()
        fold(ADD_FLOAT, values, lows, lows + _WINDOW_VALUES)
        spent.append(time.process_time() - started)
    return min(spent) / len(lows) / steady_operations("avg")


def _price(seconds: float, unit: float, shipped: float) -> float:
    """Returns a price in combines, or the shipped price if noise hides the cost."""
    return round(seconds / unit, 1) if seconds > 0 else shipped


def _plan(
    *windows: Window,
    cut: Window,
    via: Window | None = None,
    engine: Engine | None = None,
    aggregates: int = 1,
    more: Sequence[Window] = (),
) -> Plan:
    """Returns a plan with a query for each window, which reads slices of `cut`, or `via` a factor
    window over them.

    With `engine`, a pass makes these slices, and those of one more tree for each window of `more`.
    Queries have `aggregates` aggregates, each with an argument of its own.
    """
    asked = {f"top{index}": max_(f"temp + {index}") for index in range(1, aggregates)}
    asked = {"top": _TOP, **asked}
    slicing = _grid(cut)
    shared = None
    if engine is not None:
        shared = Pass(number=0, engine=engine, keys=("device",), slicing=slicing)
    nodes = [Node(window=via, aggregates=tuple(asked.values()))] if via is not None else []
    queries = [
        Query(name=str(window), window=window, aggregates=asked, keys=["device"], time="ts")
        for window in (*windows, *more)
    ]
    nodes += [
        Node(
            window=query.periodic_window,
            aggregates=tuple(asked.values()),
            parent=via,
            queries=(query.name,),
        )
        for query in queries
    ]
    grouping, own = queries[0].grouping, len(nodes) - len(more)
    trees = [
        PeriodicTree(
            grouping=grouping, slicing=slicing, nodes=tuple(nodes[:own]), slicing_pass=shared
        )
    ]
    trees += [
        PeriodicTree(
            grouping=grouping, slicing=_grid(node.window), nodes=(node,), slicing_pass=shared
        )
        for node in nodes[own:]
    ]
    return Plan(
        strategy="calibrate",
        workload=Workload(queries=tuple(queries), rate=_RATE, keys=_KEYS),
        trees=tuple(trees),
    )


def _grid(window: Window) -> Slicing:
    return Slicing(edges=(Edges(period=window.slide),), rate=SECOND / window.slide)


def _count_slices(data: DataFrame) -> int:
    """Returns how many pairs of device and second have an event."""
    return data.selectExpr("device", "date_trunc('second', ts) AS second").distinct().count()


def _answer(plan: Plan, data: DataFrame) -> None:
    relations = Relations(data, plan.queries, for_later=True)
    with Results(bind_batch(plan, relations), relations) as results:
        compute(results.together())


def _answer_in_spark(window: Window, data: DataFrame) -> None:
    query = Query(name="q", window=window, aggregates={"top": _TOP}, keys=["device"], time="ts")
    compute(Relations(data, [query]).check(query))


_FINE = _plan(_HOURS, _DAYS, cut=_SECONDS)
_COARSE = _plan(_HOURS, _DAYS, cut=_HOURS)

# Runs by name. Each does more of one thing than another run.
_WORK: dict[str, Callable[[DataFrame], None]] = {
    # The filter drops every row, so that Spark does not read the files.
    "starting": lambda data: _answer(_COARSE, data.where("ts < timestamp'1900-01-01'")),
    "events": partial(_answer, _COARSE),
    "partials": partial(_answer, _FINE),
    "components": partial(_answer, _plan(_HOURS, _DAYS, cut=_HOURS, aggregates=1 + _MORE)),
    "folded": partial(_answer, _plan(_HOURS, cut=_SECONDS, engine=Engine.SPARK, more=[_DAYS])),
    "sliced events": partial(_answer, _plan(_HOURS, _DAYS, cut=_HOURS, engine=Engine.COMPILED)),
    "sliced partials": partial(_answer, _plan(_HOURS, _DAYS, cut=_SECONDS, engine=Engine.COMPILED)),
    "sliced columns": partial(
        _answer, _plan(_HOURS, _DAYS, cut=_HOURS, engine=Engine.COMPILED, aggregates=1 + _MORE)
    ),
    "sliced often": partial(
        _answer, _plan(_HOURS, _DAYS, cut=_HOURS, engine=Engine.COMPILED, more=_LONGER)
    ),
    "factor window": partial(_answer, _plan(_HOURS, _DAYS, cut=_SECONDS, via=_SECONDS)),
    "answers": partial(_answer, _plan(_SECONDS, _DAYS, cut=_SECONDS)),
    "few groups": partial(_answer_in_spark, _HOURS),
    "many groups": partial(_answer_in_spark, _SECONDS),
    "few copies": partial(_answer_in_spark, _FEW_COPIES),
    "many copies": partial(_answer_in_spark, _MANY_COPIES),
}
