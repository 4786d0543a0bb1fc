"""Times the whole runtime of data windows on one core, with queries of all built-in kinds.

The time is from Arrow batches to answers: finding begins and ends, cutting and lowering.
"""

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import count, max_
from muntin.aggregates.representations import FLOAT, INTEGER
from muntin.model.data_windows import (
    DataWindow,
    Landmark,
    Session,
    count_window,
    delta,
    landmark,
    punctuation,
    threshold,
)
from muntin.model.query import Grouping
from muntin.model.time import SECOND
from muntin.model.trees import DataNode, DataTree
from muntin.model.windows import Window
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.data_windows.tree import DataTreeRuntime
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from muntin.sql_text import SqlText

_ROWS_AT_ONCE = 65_536
# A record every hundredth of a second, and now and then a pause.
_STEP = SECOND // 100
_PAUSES = 0.001
# The number of sensors, and the share of records that have the bit of one set.
_BITS = 20
_SET = 0.001


def windows(queries: int, seed: int = 12) -> list[DataWindow]:
    """Returns different windows of the built-in kinds in turn, up to some ten thousand records."""
    rng = np.random.default_rng(seed)

    def rows() -> int:
        return 100 * int(rng.integers(10, 100))

    def period() -> Window:
        return Window(size=2 * (slide := rows() * _STEP), slide=slide)

    def bit() -> str:
        return f"bit{int(rng.integers(_BITS))}"

    kinds: list[Callable[[], DataWindow]] = [
        lambda: Session(rows() * _STEP // 500),
        lambda: count_window(10 * (every := rows()), every=every),
        lambda: punctuation(bit()),
        lambda: delta("turns", 10 * (every := rows()), every=every),
        lambda: landmark(bit(), end=f"NOT {bit()}"),
        lambda: Landmark(bit(), rows() * _STEP),
        lambda: threshold(bit(), inside=period(), outside=period()),
    ]
    distinct: dict[DataWindow, None] = {}
    while len(distinct) < queries:
        distinct[kinds[len(distinct) % len(kinds)]()] = None
    return list(distinct)


def records(count: int, conditions: tuple[str, ...], seed: int = 12) -> pa.Table:
    """Returns one key's records in order: time, energy, a growing measure, and conditions."""
    rng = np.random.default_rng(seed)
    pauses = np.where(rng.random(count) < _PAUSES, rng.integers(1, 50, count), 0)
    columns = {
        "k": np.zeros(count, np.int64),
        "time": np.cumsum(_STEP * (1 + pauses)),
        "energy": rng.normal(8_000, 40, count),
        "turns": np.arange(count, dtype=np.float64),
    }
    return pa.table({**columns, **{name: rng.random(count) < _SET for name in conditions}})


def per_second(rows: int, queries: int) -> float:
    """Returns the records per second, the better of two runs after one that compiles."""
    tree = _tree(windows(queries))
    batches = records(rows, tree.conditions).to_batches(max_chunksize=_ROWS_AT_ONCE)
    fastest = float("inf")
    for turn in range(3):
        runtime = DataTreeRuntime(tree, _layout(tree))
        before = time.perf_counter()
        answers = sum(batch.num_rows for batch in runtime.run(batches))
        assert answers
        if turn:
            fastest = min(fastest, time.perf_counter() - before)
    return rows / fastest


def _tree(kinds: list[DataWindow]) -> DataTree:
    grouping = Grouping(relation=SqlText(("", ""), ("",)), time="time", where=None, keys=("k",))
    asked = (count(), max_("energy"))
    nodes = (
        DataNode(window=kind, aggregates=asked, queries=(f"q{number}",))
        for number, kind in enumerate(kinds)
    )
    return DataTree(grouping=grouping, nodes=tuple(nodes))


def _layout(tree: DataTree) -> RecordLayout:
    components = dict.fromkeys(c for aggregate in tree.aggregates for c in aggregate.components)
    storages = []
    for index, component in enumerate(components):
        kind = FLOAT if component.argument else INTEGER
        name = f"c{index}"
        storages.append(component_storage(component, value_type=kind, name=name, ansi=False))
    return RecordLayout(
        layout=Layout(key_columns=("k",), start="time", storages=tuple(storages)),
        conditions={sql: sql for sql in tree.conditions},
        measures={sql: sql for sql in tree.measures},
        values={c: (c.argument,) if c.argument else () for c in components},
    )
