"""A bucket that is given slices piece by piece gives every window once, as one pass would."""

import math
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import max_
from muntin.model.query import Query
from muntin.model.trees import PeriodicTree
from muntin.model.windows import Window
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.arrow_batches import from_bytes
from muntin.runtime.columns.keys import sort_slices
from muntin.runtime.periodic.rollups import is_cut
from muntin.runtime.periodic.tree import TreeRuntime
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.periodic_tree import PeriodicStreamTree
from muntin.runtime.storage.layout import Layout
from muntin.runtime.storage.table import component_storage
from tests.support.examples import examples
from tests.support.periodic_trees import AGGREGATES, batch_of, layout_of
from tests.support.simulated_streams import many_levels
from tests.support.window_sets import windows as any_windows


class Memory:
    """A store that counts what is read and written."""

    def __init__(self):
        self.data, self.rows, self.writes = {}, 0, 0

    def read(self, number):
        self.rows += from_bytes(self.data[number]).num_rows
        return self.data[number]

    def write(self, number, data):
        assert number not in self.data
        self.writes += len(data)
        self.data[number] = data

    def remove(self, number):
        del self.data[number]


def tree_of(windows, strategy="shared") -> PeriodicTree:
    queries = [
        Query(name=f"q{n}", window=one, aggregates=AGGREGATES, keys=["k"], time="t")
        for n, one in enumerate(windows)
    ]
    return plan_for_stream(optimize(workload(queries), strategy)).trees[0]


values = st.one_of(st.none(), st.integers(-9, 9))
rows = st.tuples(
    st.sampled_from("abc"),
    st.integers(1, 120),
    values.map(lambda one: None if one is None else float(one)),
    values,
)


def answered(batches):
    found = []
    for batch in batches:
        for row in batch.to_pylist():
            found.append(tuple(round(v, 6) if isinstance(v, float) else v for v in row.values()))
    return sorted(found, key=repr)


@pytest.fixture(params=[False, True], ids=["", "many levels"])
def cells(request, monkeypatch):
    """Also with a level wherever one can be, and segments that are merged soon."""
    if request.param:
        many_levels(monkeypatch)


@settings(
    deadline=None,
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    windows=st.lists(any_windows(most=6), min_size=1, max_size=4, unique=True),
    strategy=st.sampled_from(["shared", "factor", "coverage"]),
    events=st.lists(rows, max_size=40),
    steps=st.lists(st.integers(0, 25), min_size=1, max_size=12),
    early=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    retain=st.sampled_from([0, 50]),
)
def test_pieces_give_what_one_pass_gives(cells, windows, strategy, events, steps, early, retain):
    tree = tree_of(windows, strategy)
    layout = layout_of(tree)

    def edge(time, step):
        while not any((time - one.phase) % one.period == 0 for one in tree.slicing.edges):
            time += step
        return time

    # An event is in the slice from the last edge to the next.
    table = batch_of([(k, edge(time, -1), x, i) for k, time, x, i in events], layout)
    ends = [edge(start + 1, 1) for start in table.column("start").to_pylist()]
    stream_tree = PeriodicStreamTree(number=3, tree=tree, layout=layout, retain=retain)
    store, state = Memory(), BucketState()
    watermarks = list(accumulate(steps))
    # A slice arrives when the watermark passes its end, or some batches earlier.
    passed = [sum(watermark < end for watermark in watermarks) for end in ends]
    comes = [max(0, at - early[row % len(early)]) for row, at in enumerate(passed)]
    found = []
    for number, watermark in enumerate(watermarks):
        arrived = {3: table.filter(pa.array([at == number for at in comes], pa.bool_()))}
        bucket = BucketRuntime([stream_tree], store, BucketState.from_bytes(state.to_bytes()))
        found += [batch for _, batch in bucket.step(arrived, watermark)]
        state = bucket.state
    seen = table.filter(pa.array([end <= watermark for end in ends], pa.bool_()))
    one = sort_slices(seen, ("k",), "start")
    sizes = [node.window.size for node in tree.nodes]
    everything = answered(TreeRuntime(tree, layout).run([one]))
    expected = [row for row in everything if row[2] + sizes[row[0]] <= watermark]
    ours = answered(found)
    assert [row[:3] for row in ours] == [row[:3] for row in expected]
    for a, b in zip(ours, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x == y or math.isclose(x, y, rel_tol=1e-9)


def test_a_batch_writes_what_is_new_drops_what_is_old_and_reads_little():
    tree = tree_of([Window(size=300, slide=1), Window(size=1, slide=1)])
    layout = layout_of(tree)
    stream_tree = PeriodicStreamTree(number=3, tree=tree, layout=layout)
    store, state = Memory(), BucketState()
    # Some more than the longest window holds.
    written, read, steps = [], [], 360
    for at in range(steps):
        before = store.writes, store.rows
        rows = batch_of([(key, at, 1.0, 1) for key in "abcdefghij"], layout)
        bucket = BucketRuntime([stream_tree], store, BucketState.from_bytes(state.to_bytes()))
        answers = list(bucket.step({3: rows}, at + 1))
        assert sum(len(batch) for _, batch in answers) == 20
        state = bucket.state
        written.append(store.writes - before[0])
        read.append(store.rows - before[1])
    assert len(state.trees[3].levels) > 1
    runs = [run for level in state.trees[3].levels for run in level.segments]
    assert store.data.keys() == {run.number for run in runs}
    assert [run.bytes for run in runs] == [len(store.data[run.number]) for run in runs]
    # A level is kept for a cell of the next one longer than windows need it.
    cells = [level.level.width for level in state.trees[3].levels[1:]]
    assert min(run.last for run in runs) >= steps - 300 - max(cells)
    assert len(runs) < 150
    # Rows are written when they come and when they are merged, and cells when they are over.
    assert sum(written) < steps * written[0] * 6
    # Three thousand slices are kept; a batch reads cells, and slices near its begin and its end.
    assert sum(read[-100:]) / 100 < 1000


@pytest.mark.parametrize("late", [0, 1])
def test_what_a_batch_combines_does_not_depend_on_the_length_of_windows(late):
    combined = []
    for size in (300, 3_000, 30_000):
        tree = tree_of([Window(size=size, slide=1), Window(size=1, slide=1)])
        layout = layout_of(tree)
        stream_tree = PeriodicStreamTree(number=3, tree=tree, layout=layout)
        store, state = Memory(), BucketState()
        # All but the last steps at once.
        steps = [range(size), *(range(at, at + 1) for at in range(size, size + 30))]
        most: list[int] = []
        for step in steps:
            starts = [*step, step[0] - late * size // 2]
            bucket = BucketRuntime([stream_tree], store, BucketState.from_bytes(state.to_bytes()))
            rows = {3: batch_of([("a", at, 1.0, 1) for at in starts], layout)}
            given = bucket.step(rows, step[-1] + 1)
            answers = [row for _, batch in given for row in batch.to_pylist()]
            state = bucket.state
            most += [bucket.combined[3]] if step[0] >= size else []
        longest = [row for row in answers if row["node"] == len(tree.nodes) - 1]
        assert [row["begin"] for row in longest] == [step[-1] + 1 - size]
        # The first batch makes the stacks of a window that has some: the suffixes of all cells, and
        # of one cell.
        assert most[0] < max(150, 4 * math.isqrt(size)), most
        combined.append(max(most[1:]))
    assert max(combined) < 150, combined


def test_slices_are_merged_as_soon_as_no_window_to_come_needs_their_edges():
    # An hour by the minute needs minutes for an hour; a day by ten minutes needs tens for a day.
    tree = tree_of([Window(size=60, slide=1), Window(size=1440, slide=10)])
    layout = layout_of(tree)
    stream_tree = PeriodicStreamTree(number=3, tree=tree, layout=layout)
    store, state = Memory(), BucketState()
    for at in range(0, 1500, 10):
        bucket = BucketRuntime([stream_tree], store, BucketState.from_bytes(state.to_bytes()))
        rows = batch_of([("a", at + minute, 1.0, 1) for minute in range(10)], layout)
        list(bucket.step({3: rows}, at + 9))
        state = bucket.state
    widths = [level.level.cells and level.level.cells.size for level in state.trees[3].levels]
    rows = [sum(run.rows for run in level.segments) for level in state.trees[3].levels]
    assert widths == [None, 10, 120]
    # Segments expire whole, so there are some more.
    assert all(low <= found <= low + 25 for low, found in zip([60, 143, 11], rows, strict=True))


def test_a_slice_that_comes_in_many_batches_is_merged_into_one_row():
    tree = tree_of([Window(size=600, slide=60)])
    layout = layout_of(tree)
    stream_tree = PeriodicStreamTree(number=3, tree=tree, layout=layout)
    store, state = Memory(), BucketState()
    for _ in range(64):
        bucket = BucketRuntime([stream_tree], store, BucketState.from_bytes(state.to_bytes()))
        assert not list(bucket.step({3: batch_of([("a", 60, 1.0, 1)], layout)}, 61))
        state = bucket.state
    assert sum(segment.rows for segment in state.trees[3].levels[0].segments) < 8
    bucket = BucketRuntime([stream_tree], store, state)
    answers = [row for _, batch in bucket.step({}, 700) for row in batch.to_pylist()]
    assert {row["begin"] for row in answers} == set(range(-480, 61, 60))
    assert {row["i0"] for row in answers} == {64}


@pytest.mark.parametrize(("begin", "cut"), [(8, [0, 0, 0]), (9, [0, 0, 1]), (3, [1, 0, 0])])
def test_cells_are_cut_where_windows_begin_or_end(begin, cut):
    # 0    4    8    12
    # [----)----)----)      cells; a window [begin, begin + 8)
    cells = np.array([0, 4, 8])
    ends = [0, 0, int(begin == 3)]
    found = is_cut(cells, 4, {Window(size=8, slide=1): (begin, begin)})
    assert found.tolist() == [bool(a or b) for a, b in zip(cut, ends, strict=True)]


def test_levels_hold_values_of_other_types():
    # Windows of 2 and of 240 by 10, over the names of instants.
    queries = [
        Query(name=name, window=window, aggregates={"last": max_("name")}, keys=["k"], time="t")
        for name, window in [("two", Window(size=2, slide=2)), ("long", Window(size=240, slide=10))]
    ]
    (tree,) = plan_for_stream(optimize(workload(queries), "shared")).trees
    (component,) = tree.aggregates[0].components
    held = component_storage(component, value_type="string", name="c0", ansi=False)
    stream_tree = PeriodicStreamTree(
        number=3, tree=tree, layout=Layout(key_columns=("k",), start="start", storages=(held,))
    )
    assert len(stream_tree.levels) > 1
    store, state, found = Memory(), BucketState(), []
    for at in range(0, 500, 20):
        names = [None if at == 40 else f"é{minute:03d}" for minute in range(at, at + 20)]
        # The last one is late.
        rows = {
            "k": ["a"] * 21,
            "start": [*range(at, at + 20), at - 60],
            "c0": [*names, f"ÿ{at:03d}"],
        }
        bucket = BucketRuntime([stream_tree], store, BucketState.from_bytes(state.to_bytes()))
        for _, batch in bucket.step({3: pa.table(rows)}, at):
            found += [row for row in batch.to_pylist() if row["node"] == len(tree.nodes) - 1]
        state = bucket.state
    answers = {row["begin"]: value for row in found for value in [row["v0:string"]]}
    assert min(answers) < 0
    # Late names are greater than all others; that of the next batch found the window given out.
    assert answers[200] == "ÿ440"
    assert len(answers) == len(found)
