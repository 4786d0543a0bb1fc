"""A bucket that is given slices piece by piece gives every window once, as one pass would."""

import math

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.model.plan import Tree
from muntin.model.query import Query, workload
from muntin.model.window import Window
from muntin.runtime import runs as runs_module
from muntin.runtime.bucket import BucketRuntime, BucketState, Lane
from muntin.runtime.order import ordered
from muntin.runtime.runs import Runs
from muntin.runtime.tree import TreeRuntime
from muntin.share.optimizer import optimize
from tests.runtime.test_tree import AGGREGATES, batch_of, layout_of


class Memory:
    """A store that counts what is read and written."""

    def __init__(self):
        self.data, self.reads, self.writes = {}, 0, 0

    def read(self, number):
        self.reads += 1
        return self.data[number]

    def write(self, number, data):
        assert number not in self.data
        self.writes += len(data)
        self.data[number] = data

    def remove(self, number):
        del self.data[number]


@st.composite
def small_windows(draw):
    slide = draw(st.integers(1, 6))
    size = draw(st.integers(slide, 20))
    return Window(size=size, slide=slide, offset=draw(st.integers(0, slide - 1)))


def tree_of(windows, strategy="shared") -> Tree:
    queries = [
        Query(name=f"q{n}", window=one, aggregates=AGGREGATES, keys=["k"], time="t")
        for n, one in enumerate(windows)
    ]
    return optimize(workload(queries), strategy).trees[0]


values = st.one_of(st.none(), st.integers(-9, 9))
rows = st.tuples(
    st.sampled_from("abc"),
    st.integers(-30, 90),
    values.map(lambda one: None if one is None else float(one)),
    values,
)


def answered(batches):
    found = []
    for batch in batches:
        for row in batch.to_pylist():
            found.append(tuple(round(v, 6) if isinstance(v, float) else v for v in row.values()))
    return sorted(found, key=repr)


@settings(deadline=None, max_examples=150)
@given(
    windows=st.lists(small_windows(), min_size=1, max_size=4, unique=True),
    strategy=st.sampled_from(["shared", "factor", "coverage"]),
    events=st.lists(rows, max_size=40),
    steps=st.lists(st.integers(0, 25), min_size=1, max_size=12),
    retain=st.sampled_from([0, 50]),
)
def test_pieces_give_what_one_pass_gives(windows, strategy, events, steps, retain):
    tree = tree_of(windows, strategy)
    layout = layout_of(tree)

    def edge(time, step):
        while not any((time - one.phase) % one.period == 0 for one in tree.slicing.edges):
            time += step
        return time

    # An event is in the slice from the last edge to the next.
    table = batch_of([(k, edge(time, -1), x, i) for k, time, x, i in events], layout)
    ends = [edge(start + 1, 1) for start in table.column("start").to_pylist()]
    lane = Lane(number=3, tree=tree, layout=layout, retain=retain)
    store, state, watermark = Memory(), BucketState(), -40
    found = []
    for step in steps:
        before, watermark = watermark, watermark + step
        # A slice comes out when the watermark passes its end; here slices hold single events.
        mask = [before < end <= watermark for end in ends]
        arrived = {3: table.filter(pa.array(mask, pa.bool_()))}
        bucket = BucketRuntime([lane], store, BucketState.from_bytes(state.to_bytes()))
        due = bucket.due()
        answers = list(bucket.step(arrived, watermark))
        if due is not None and due > watermark and not any(mask):
            assert not answers
        found += [batch for _, batch in answers]
        state = bucket.state
    seen = table.filter(pa.array([-40 < end <= watermark for end in ends], pa.bool_()))
    one = ordered(seen, ("k",), "start")
    sizes = [node.window.size for node in tree.nodes]
    everything = answered(TreeRuntime(tree, layout).run([one]))
    expected = [row for row in everything if row[2] + sizes[row[0]] <= watermark]
    ours = answered(found)
    assert [row[:3] for row in ours] == [row[:3] for row in expected]
    for a, b in zip(ours, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x == y or math.isclose(x, y, rel_tol=1e-9)


def test_a_batch_writes_what_is_new_and_drops_what_is_old():
    store = Memory()
    runs = Runs(store, [], start="start")
    number = 0
    sizes = []
    for at in range(1000):
        before = store.writes
        number = runs.add(pa.table({"start": pa.array([at] * 10, pa.int64())}), number)
        runs.drop(at - 600)
        sizes.append(store.writes - before)
    # Few runs, each row written once per level at most, and none that is all expired.
    assert len(runs.runs) < 60
    assert store.data.keys() == {run.number for run in runs.runs}
    assert min(run.last for run in runs.runs) >= 999 - 600
    assert sum(sizes) < 1000 * sizes[0] * (runs_module._HIGHEST + 1)
    assert sum(table.num_rows for table in runs.since(900)) == 1000
