"""User-defined windows in the runtime against the naive answer: each window from its records."""

import math
from dataclasses import replace
from statistics import variance as naive_variance

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import (
    aggregate,
    count_window,
    custom,
    delta,
    hopping,
    landmark,
    punctuation,
    session,
    threshold,
    tumbling,
)
from muntin.errors import RunError
from muntin.model.aggregates.aggregate import avg, count, max_, sum_, variance
from muntin.model.aggregates.table import FLOAT, INTEGER
from muntin.model.query import Family
from muntin.model.record_tree import RecordNode, RecordTree
from muntin.model.sql_text import SqlText
from muntin.runtime.columns.layout import Layout, kept, slots_of
from muntin.runtime.records.cutter import DEFAULT, STORES
from muntin.runtime.records.read_records import RecordLayout
from muntin.runtime.records.record_tree import RecordTreeRuntime
from muntin.techniques import cutty
from tests.support.record_windows import Event, windows

AGGREGATES = {
    "n": count(),
    "some": count("x"),
    "top": max_("x"),
    "mean": avg("x"),
    "spread": variance("x"),
    "total": sum_("i"),
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
    "landmark for a while": landmark("a", end=6),
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


def in_order(steps: list[Event]) -> list[Event]:
    time, km, found = -40, 3.0, []
    for step in steps:
        time += step.time
        km += step.km or 0.0
        found.append(Event(time, step.x, step.i, step.a, step.b, None if step.km is None else km))
    return found


def tree_of(kinds, aggregates=AGGREGATES) -> RecordTree:
    asked = tuple(aggregates.values())
    return RecordTree(
        family=Family(relation=SqlText(("", ""), ("",)), time="ts", where=None, keys=("k",)),
        nodes=tuple(
            RecordNode(window=kind, aggregates=asked, queries=(str(number),))
            for number, kind in enumerate(kinds)
        ),
    )


def layout_of(tree: RecordTree) -> RecordLayout:
    components = dict.fromkeys(c for a in tree.aggregates for c in a.components)
    return RecordLayout(
        layout=Layout(
            key_columns=("k",),
            start="time",
            kept=tuple(
                kept(
                    component,
                    number=FLOAT
                    if component.argument == "x" and component.kind != "count"
                    else INTEGER,
                    name=f"c{index}",
                    ansi=False,
                )
                for index, component in enumerate(components)
            ),
        ),
        conditions={"a": "a", "b": "b"},
        measures={"km": "km"},
        columns={"a": "a"},
        values={c: () if c.argument is None else (c.argument,) for c in components},
    )


def table_of(keys: list[list[Event]]) -> pa.Table:
    rows = [(f"k{number}", event) for number, events in enumerate(keys) for event in events]
    columns = {"k": pa.array([key for key, _ in rows], pa.string())}
    kinds = {"time": pa.int64(), "x": pa.float64(), "i": pa.int64(), "a": pa.bool_()}
    for name, kind in {**kinds, "b": pa.bool_(), "km": pa.float64()}.items():
        columns[name] = pa.array([getattr(event, name) for _, event in rows], kind)
    return pa.table(columns)


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


together = given(
    keys=st.lists(events_of_a_key, min_size=1, max_size=4),
    chosen=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5, unique=True),
    rows_a_batch=st.sampled_from([1, 2, 3, 7, 100]),
)


@together
@settings(max_examples=40)
def test_windows_together_equal_the_naive_answer(keys, chosen, rows_a_batch):
    check_together(keys, chosen, rows_a_batch, DEFAULT, AGGREGATES)


@pytest.mark.parametrize("store", [name for name in STORES if name != DEFAULT])
@together
@settings(max_examples=25)
def test_every_store_gives_the_same(store, keys, chosen, rows_a_batch):
    check_together(keys, chosen, rows_a_batch, store, {"n": count()})


def check_together(keys, chosen, rows_a_batch, store, aggregates):
    keys = [ordered for steps in keys if (ordered := in_order(steps))]
    kinds = [*(KINDS[name] for name in chosen), LAST_THREE]
    tree = tree_of(kinds, aggregates)
    layout = layout_of(tree)
    runtime = RecordTreeRuntime(tree, layout, store=store)
    found = answers(tree, layout, runtime, table_of(keys), rows_a_batch)
    if store == DEFAULT:
        for cutter, _ in runtime.cutters:
            assert cutter.state[cutty.MOST_BEYOND] <= 1
    for number, kind in enumerate(kinds):
        wanted = [row[: 3 + len(aggregates)] for row in expected(kind, keys)]
        assert_same_rows(found[number], wanted)


@pytest.mark.parametrize("name", KINDS)
@given(steps=events_of_a_key, rows_a_batch=st.sampled_from([1, 4, 100]))
@settings(max_examples=25)
def test_a_window_alone_equals_the_naive_answer(name, steps, rows_a_batch):
    events = in_order(steps)
    tree = tree_of([KINDS[name]])
    layout = layout_of(tree)
    runtime = RecordTreeRuntime(tree, layout)
    found = answers(tree, layout, runtime, table_of([events]), rows_a_batch)
    assert_same_rows(found[0], expected(KINDS[name], [events]))


def run_alone(kind, events, rows_a_batch=100):
    tree = tree_of([kind], {"n": count(), "total": sum_("i")})
    layout = layout_of(tree)
    runtime = RecordTreeRuntime(tree, layout)
    return runtime, answers(tree, layout, runtime, table_of([events]), rows_a_batch)[0]


def event(time, i=1, a=False, b=False, km=None):
    return Event(time, None, i, a, b, km)


def test_a_record_may_end_one_window_and_begin_several():
    # km   0    5    10   15   20   25   30
    # [---------)                            3 is in [0, 10)
    #                     [---------)        27 is in [20, 30) and [25, 35), which begin with it
    #                          [---------)
    events = [event(1, km=3.0), event(2, i=10, km=27.0)]
    _, found = run_alone(delta("km", 10, every=5), events)
    assert sorted(found, key=repr) == [
        ("k0", 1, 2, 1, 1),
        ("k0", 1, 2, 1, 1),
        ("k0", 2, None, 1, 10),
        ("k0", 2, None, 1, 10),
    ]


def test_windows_nest():
    # 0 1 2 3 4 5
    # [---------)   a begins at 0, and again at 2; both end where b holds
    #     [-----)
    events = [event(t, i=1 << t, a=t in (0, 2), b=t == 5) for t in range(6)]
    _, found = run_alone(landmark("a", end="b"), events)
    assert sorted(found) == [("k0", 0, 5, 5, 31), ("k0", 2, 5, 3, 28)]


def test_many_slices_of_windows_that_nest_and_overlap():
    # Windows of a dozen lengths: slices of short ones die between those of long ones.
    sizes = [(300, 7), (299, 150), (80, 3), (41, 5), (40, 40), (11, 2), (3, 1), (900, 31)]
    kinds = [count_window(size, every=every) for size, every in sizes]
    events = [event(t, i=t * 37 % 101) for t in range(2000)]
    tree = tree_of(kinds, {"n": count(), "total": sum_("i")})
    layout = layout_of(tree)
    runtime = RecordTreeRuntime(tree, layout)
    found = answers(tree, layout, runtime, table_of([events, events[:50]]), 333)
    for number, (size, every) in enumerate(sizes):
        wanted = []
        for key, rows in (("k0", 2000), ("k1", 50)):
            for low in range(0, rows, every):
                held = [one.i for one in events[low : min(low + size, rows)]]
                end = low + size if low + size < rows else None
                wanted.append((key, low, end, len(held), sum(held)))
        assert sorted(found[number], key=repr) == sorted(wanted, key=repr)
    state = runtime.cutters[0][0].state
    assert state[cutty.MOST_STORED] > 100
    assert state[cutty.MOST_BEYOND] <= 1


def test_state_is_no_larger_than_the_open_windows():
    events = [event(t) for t in range(5000)]
    runtime, found = run_alone(count_window(500, every=10), events, rows_a_batch=700)
    assert len(found) == 500
    state = runtime.cutters[0][0].state
    # Fifty windows are open at a time, each with a slice.
    assert state[cutty.MOST_STORED] <= 50
    assert state[cutty.MOST_BEYOND] <= 1


class Wrong:
    def f_disc(self, record):
        return 0, 1


class Short:
    def f_disc(self, record):
        return 1


class Greedy:
    def trigger(self, record):
        return False

    def evict(self, record, held):
        return held + 1


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Wrong, "Wrong ended a window that had not begun before"),
        (Short, "Short must give two counts for each record"),
        (Greedy, "Greedy cannot evict 1 of 0 records"),
    ],
)
def test_a_class_that_cannot_be_right_is_refused(made, message):
    with pytest.raises(RunError, match=message):
        run_alone(custom(made), [event(1), event(2)])


def test_aggregates_of_the_users_own():
    events = in_order([Event(t % 3, t / 4, t, t % 5 == 0, False, None) for t in range(40)])
    for number in (3, 17):
        events[number] = Event(events[number].time, None, number, None, False, None)

    def older(a, b):
        return a if a[0] <= b[0] else b

    words = {}

    def not_compiled(a, b):
        words[a] = str(b)
        return max(a, b)

    first = aggregate(["i", "x"], older, lambda partial: partial[1], (math.inf, 0.0))
    top = aggregate("x", not_compiled, lambda partial: -partial, -math.inf)
    kinds = [count_window(7, every=3), hopping(11, every=4), punctuation("a")]
    tree = tree_of(kinds, {"first": first, "top": top})
    layout = layout_of(tree)
    values = {first.components[0]: ("i", "x"), top.components[0]: ("x",)}
    layout = replace(
        layout,
        layout=replace(
            layout.layout,
            kept=tuple(kept(c, number=FLOAT, name="c", ansi=False) for c in values),
        ),
        values=values,
    )
    runtime = RecordTreeRuntime(tree, layout)
    found = answers(tree, layout, runtime, table_of([events]), 9)
    for number, kind in enumerate(kinds):
        wanted = []
        for start, end, held in windows(kind, events):
            xs = [(e.i, e.x) for e in held if e.x is not None]
            wanted.append(("k0", start, end, xs[0][1], -max(x for _, x in xs)))
        assert sorted(found[number], key=repr) == sorted(wanted, key=repr)
    assert words
