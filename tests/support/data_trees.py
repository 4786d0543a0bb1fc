"""Trees of data windows over records of a few keys, and their naive answers."""

import math
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from statistics import median
from statistics import variance as naive_variance

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from muntin import (
    aggregate,
    count_window,
    custom,
    delta,
    landmark,
    punctuation,
    threshold,
)
from muntin.aggregates.aggregate import (
    Aggregate,
    Component,
    avg,
    count,
    max_,
    min_,
    sum_,
    variance,
)
from muntin.aggregates.representations import FLOAT
from muntin.model.query import Grouping
from muntin.model.trees import DataNode, DataTree
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.storage.layout import Layout, slots_of
from muntin.runtime.storage.table import component_storage
from muntin.sql_text import SqlText
from tests.support.periodic_trees import storages_of
from tests.support.record_windows import Event, windows
from tests.support.windows import hopping, session, tumbling

AGGREGATES = {
    "n": count(),
    "some": count("x"),
    "top": max_("x"),
    "mean": avg("x"),
    "spread": variance("x"),
    "total": sum_("i"),
    "first": min_("word"),
    "last": max_("word"),
    "paid": sum_("price"),
    "day": max_("day"),
    "words": Aggregate(function="count_distinct", argument="word"),
    "xs": Aggregate(function="count_distinct", argument="x"),
    "middle": Aggregate(function="median", argument="x"),
    "usual": Aggregate(function="mode", argument="word"),
    "about": Aggregate(function="approx_count_distinct", argument="hash"),
    "picked": Aggregate(function="max_by", argument="name", others=("i",)),
}


class Bursts:
    """At every third record two windows begin, and one ends at each multiple of four."""

    def __init__(self):
        self.seen = -1
        self.open = 0

    def f_disc(self, record):
        self.seen += 1
        ends = min(self.open, int(self.seen % 4 == 0) + int(bool(record.a)))
        begins = 2 * int(self.seen % 3 == 0)
        self.open += begins - ends
        return begins, ends


class Tumbles:
    """Three records each, told batch by batch."""

    def __init__(self):
        self.seen = 0

    def f_disc(self, record):
        begins = self.seen % 3 == 0
        self.seen += 1
        return int(begins), int(begins and self.seen > 1)

    def f_disc_batch(self, records):
        rows = self.seen + np.arange(len(records.time))
        self.seen += len(rows)
        return rows % 3 == 0, (rows % 3 == 0) & (rows > 0)


class LastThree:
    """The last three records, every ten of time: the paper's window that is not deterministic."""

    def __init__(self):
        self.due = None

    def trigger(self, record):
        if self.due is None or record.time >= self.due:
            fires = self.due is not None
            self.due = record.time - record.time % 10 + 10
            return fires
        return False

    def evict(self, record, held):
        return max(0, held - 2)


KINDS = {
    "session": session(3),
    "long session": session(7),
    "punctuation": punctuation("a"),
    "landmark": landmark("a", end="b"),
    "landmark for a while": landmark("a", end="6 microseconds"),
    "count": count_window(4),
    "count, overlapping": count_window(5, every=2),
    "delta": delta("km", 10, every=4),
    "delta, not whole": delta("km", 1.5, every=0.3),
    "threshold": threshold("a", inside=hopping(5, every=2), outside=hopping(10, every=5)),
    "tumbling": tumbling(6, offset=1),
    "hopping": hopping(11, every=4),
    "bursts": custom(Bursts, columns=["a"]),
    "tumbles": custom(Tumbles),
}
LAST_THREE = custom(LastThree)

events_of_a_key = st.lists(
    st.builds(
        Event,
        # Time and measure are made to grow below: gaps here.
        time=st.sampled_from([0, 0, 1, 1, 2, 3, 4, 9, 30]),
        x=st.one_of(st.none(), st.integers(-8, 8).map(lambda n: n / 4)),
        i=st.integers(-5, 5),
        a=st.sampled_from([True, False, False, None]),
        b=st.sampled_from([True, False, False, None]),
        km=st.sampled_from([None, 0.0, 0.5, 1.0, 3.0, 25.0, -1.0]),
    ),
    max_size=25,
)


def event(time, i=1, a=False, b=False, km=None):
    return Event(time, None, i, a, b, km)


def in_order(steps: list[Event]) -> list[Event]:
    time, km, found = -40, 3.0, []
    for step in steps:
        time += step.time
        km += step.km or 0.0
        found.append(Event(time, step.x, step.i, step.a, step.b, None if step.km is None else km))
    return found


def tree_of(kinds, aggregates=AGGREGATES) -> DataTree:
    asked = tuple(aggregates.values())
    return DataTree(
        grouping=Grouping(relation=SqlText(("", ""), ("",)), time="ts", where=None, keys=("k",)),
        nodes=tuple(
            DataNode(window=kind, aggregates=asked, queries=(str(number),))
            for number, kind in enumerate(kinds)
        ),
    )


def layout_of(tree: DataTree) -> RecordLayout:
    """The columns of events: `x` is a float, `i` an integer."""
    components = dict.fromkeys(c for a in tree.aggregates for c in a.components)
    return RecordLayout(
        layout=Layout(key_columns=("k",), start="time", storages=storages_of(tree)),
        conditions={"a": "a", "b": "b"},
        measures={"km": "km"},
        columns={"a": "a"},
        values={c: _columns_of(c) for c in components},
    )


def _columns_of(component: Component) -> tuple[str, ...]:
    if component.argument is None:
        return ()
    return ("picked",) if component.kind == "max_by" else (component.argument,)


def table_of(keys: list[list[Event]]) -> pa.Table:
    rows = [(f"k{number}", event) for number, events in enumerate(keys) for event in events]
    columns = {"k": pa.array([key for key, _ in rows], pa.string())}
    kinds = {"time": pa.int64(), "x": pa.float64(), "i": pa.int64(), "a": pa.bool_()}
    for name, kind in {**kinds, "b": pa.bool_(), "km": pa.float64()}.items():
        columns[name] = pa.array([getattr(event, name) for _, event in rows], kind)
    for name, kind in {
        "word": pa.string(),
        "price": pa.decimal128(12, 2),
        "day": pa.date32(),
        "hash": pa.int64(),
        "picked": pa.struct([("y", pa.int64()), ("x", pa.string())]),
    }.items():
        columns[name] = pa.array([typed(event)[name] for _, event in rows], kind)
    return pa.table(columns)


def typed(event: Event) -> dict:
    """What a record has of other types than numbers, some of it null."""
    is_missing = event.x is None
    return {
        "word": None if is_missing else "wört"[: event.i % 3 + 1] * (abs(event.i) // 3),
        "price": None if event.a is None else Decimal(event.i) * Decimal("1000000.25"),
        "day": None if is_missing else date(1970, 1, 3) + timedelta(days=event.i),
        # Far apart, so that they are in registers of their own.
        "hash": None if is_missing else (event.i % 11) * 0x0BCD_EF12_3456_789A,
        "picked": None if event.a is None else {"y": event.i, "x": f"name {event.i}"},
    }


def answers(tree, layout, runtime, table, rows_a_batch):
    batches = table.to_batches(max_chunksize=rows_a_batch)
    found = [one for batch in batches for one in runtime.push(batch)] + list(runtime.finish())
    rows: dict[int, list] = {number: [] for number in range(len(tree.nodes))}
    for batch in found:
        for row in batch.to_pylist():
            node = tree.nodes[row["node"]]
            places = [one[0] for one in slots_of(node, layout.layout)]
            values = tuple(row[place] for place in places)
            rows[row["node"]].append((row["k"], row["begin"], row["end"], *values))
    return rows


def expected(kind, keys):
    found = []
    for number, events in enumerate(keys):
        for start, end, held in windows(kind, events):
            found.append((f"k{number}", start, end, *naive(held)))
    return found


def naive(held: list[Event]):
    xs = [event.x for event in held if event.x is not None]
    return (
        len(held),
        len(xs),
        max(xs, default=None),
        sum(xs) / len(xs) if xs else None,
        naive_variance(xs) if len(xs) > 1 else None,
        sum(event.i for event in held),
        *naive_typed(held),
    )


def naive_typed(held: list[Event]):
    words, prices, days = (
        [value for event in held if (value := typed(event)[name]) is not None]
        for name in ("word", "price", "day")
    )
    xs = [event.x for event in held if event.x is not None]
    picked = max((event.i for event in held if event.a is not None), default=None)
    return (
        min(words, key=str.encode, default=None),
        max(words, key=str.encode, default=None),
        sum(prices) if prices else None,
        max(days, default=None),
        len(set(words)),
        len(set(xs)),
        median(xs) if xs else None,
        min(words, key=lambda word: (-words.count(word), word.encode()), default=None),
        len({event.i for event in held if event.x is not None}),
        None if picked is None else f"name {picked}",
    )


def assert_same_rows(found, wanted):
    order = [sorted(rows, key=repr_of_bounds) for rows in (found, wanted)]
    assert len(order[0]) == len(order[1])
    for ours, theirs in zip(*order, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            if isinstance(one, float):
                assert math.isclose(one, other, abs_tol=1e-9)
            else:
                assert one == other


def repr_of_bounds(row):
    return repr([-math.inf if value is None else value for value in row[1:6]]) + row[0]


class OwnAggregates:
    """A tree with two aggregates of the user's own: one compiled, one that numba cannot compile."""

    def __init__(self, kinds) -> None:
        self.called = {}

        def older(a, b):
            return a if a[0] <= b[0] else b

        def not_compiled(a, b):
            self.called[a] = str(b)
            return max(a, b)

        first = aggregate(["i", "x"], older, lambda partial: partial[1], (math.inf, 0.0))
        top = aggregate("x", not_compiled, lambda partial: -partial, -math.inf)
        values = {first.components[0]: ("i", "x"), top.components[0]: ("x",)}
        parts = tuple(component_storage(c, value_type=FLOAT, name="c", ansi=False) for c in values)
        self.tree = tree_of(kinds, {"first": first, "top": top})
        layout = layout_of(self.tree)
        self.layout = replace(layout, layout=replace(layout.layout, storages=parts), values=values)
