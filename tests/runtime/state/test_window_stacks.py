"""A window with two stacks gives what its slices give, and combines each slice a few times."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import count, max_
from muntin.model.query import Query
from muntin.model.time import HOUR, MINUTE, SECOND
from muntin.model.trees import QUEUE, QUEUE_IN_STEPS, RECALC, PeriodicTree
from muntin.model.windows import Edges, Slicing, Window
from muntin.model.workload import workload
from muntin.optimizer.operations import operations_per_slice
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.periodic_tree import PeriodicState, PeriodicStreamTree
from tests.support.examples import examples
from tests.support.periodic_trees import AGGREGATES, batch_of, layout_of
from tests.support.simulated_streams import Memory, many_levels
from tests.support.window_sets import windows as any_windows


def tree_of(windows, aggregates=AGGREGATES) -> PeriodicTree:
    queries = [
        Query(name=f"q{n}", window=one, aggregates=aggregates, keys=["k"], time="t")
        for n, one in enumerate(windows)
    ]
    # Dense: each key has many events in a slice.
    work = workload(queries, rate=1e9, keys=2)
    return plan_for_stream(optimize(work, "shared")).trees[0]


def by(technique: str, tree: PeriodicTree) -> PeriodicTree:
    """The tree with one technique for all."""
    return replace(
        tree,
        nodes=tuple(
            replace(node, techniques=tuple((technique,) * len(each) for each in node.techniques))
            for node in tree.nodes
        ),
    )


class Stream:
    """A bucket with one tree; its state goes through bytes after each batch."""

    def __init__(self, retain: int = 0):
        self.store, self.state, self.retain = Memory(), BucketState().to_bytes(), retain
        self.combined = 0

    def batch(self, tree: PeriodicTree, rows: list, watermark: int) -> list[tuple]:
        layout = layout_of(tree)
        running = PeriodicStreamTree(number=3, tree=tree, layout=layout, retain=self.retain)
        bucket = BucketRuntime([running], self.store, BucketState.from_bytes(self.state))
        arrived = {3: batch_of(rows, layout)}
        found = [
            tuple(row.values())
            for _, batch in bucket.step(arrived, watermark)
            for row in batch.to_pylist()
        ]
        self.state = bucket.state.to_bytes()
        self.combined = bucket.combined[3]
        assert self.store.data.keys() == set(self.known.numbers)
        return sorted(found, key=lambda row: repr(row[:3]))

    @property
    def known(self) -> PeriodicState:
        return BucketState.from_bytes(self.state).trees[3]


def same(ours: list[tuple], theirs: list[tuple]) -> bool:
    return len(ours) == len(theirs) and all(
        x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)
        for a, b in zip(ours, theirs, strict=True)
        for x, y in zip(a, b, strict=True)
    )


@pytest.fixture(params=[False, True], ids=["", "many levels"])
def cells(request, monkeypatch):
    """Also with a level wherever one can be, and segments that are merged soon."""
    if request.param:
        many_levels(monkeypatch)


# A value, and how far its time is from the watermark: behind it, a slice is late.
values = st.one_of(st.none(), st.integers(-9, 9))
events = st.tuples(st.sampled_from("abc"), st.integers(-60, 12), values)
# How far the watermark goes, what arrives before, and which technique the batch runs with.
steps = st.tuples(
    st.sampled_from([0, 1, 1, 1, 2, 2, 3, 5, 30, 300]),
    st.lists(events, max_size=5),
    st.sampled_from([*[QUEUE] * 12, *[QUEUE_IN_STEPS] * 12, RECALC]),
)


@st.composite
def long_windows(draw):
    """Windows with many intervals open at a time; the size may be no multiple of the slide."""
    slide = draw(st.integers(1, 3))
    size = slide * draw(st.integers(3, 12)) + draw(st.integers(0, slide - 1))
    return Window(size=size, slide=slide, offset=draw(st.integers(0, slide - 1)))


@settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    windows=st.lists(st.one_of(long_windows(), any_windows(most=6)), min_size=1, max_size=3),
    more=st.lists(any_windows(most=6), max_size=2, unique=True),
    batches=st.lists(steps, min_size=10, max_size=40),
    changes=st.sets(st.integers(0, 39), max_size=3),
    retain=st.sampled_from([0, 100]),
)
def test_stacks_give_what_slices_give(cells, windows, more, batches, changes, retain):
    """Batches with late slices, gaps, jumps of the watermark and changes of the plan."""
    plans = [tree_of(dict.fromkeys(windows)), tree_of(dict.fromkeys([*windows, *more]))]
    # Slices at the edges of both plans, since only then is a window complete at once.
    slices = plans[1].slicing
    streams = Stream(retain), Stream(retain)
    watermark = plan = 0
    for number, (step, arrived, technique) in enumerate(batches):
        plan ^= number in changes
        rows = []
        for key, ahead, value in arrived:
            time = max(0, watermark + ahead)
            start = time - min((time - each.phase) % each.period for each in slices.edges)
            rows.append((key, start, None if value is None else float(value), value))
        watermark += step
        ours = streams[0].batch(by(technique, plans[plan]), rows, watermark)
        theirs = streams[1].batch(by(RECALC, plans[plan]), rows, watermark)
        assert same(ours, theirs), (number, ours, theirs)
        assert not BucketState.from_bytes(streams[1].state).trees[3].stacks


@pytest.mark.parametrize(
    ("size", "slide", "named"),
    [
        (HOUR, MINUTE, QUEUE),
        (24 * HOUR, 10 * MINUTE, QUEUE_IN_STEPS),
        (24 * HOUR, MINUTE, QUEUE_IN_STEPS),
    ],
)
def test_a_stream_combines_as_the_technique_of_its_plan_says(size, slide, named):
    """A batch for each slide; the first block is filled before answers are counted."""
    window = Window(size=size, slide=slide)
    tree = tree_of([window], {"n": count(), "top": max_("x")})
    (node,) = (node for node in tree.nodes if node.queries)
    assert {name for names in node.techniques for name in names} == {named}
    stream, answers, combined = Stream(), 0, 0
    block = size // slide
    # Up to the third block; of the longest window, one flip and some of its cells.
    steps = 3 * block if named == QUEUE else 2 * block + 60
    first = [(key, step * slide, 1.0, 1) for step in range(block) for key in "ab"]
    stream.batch(tree, first, block * slide)
    for step in range(block, steps):
        rows = [(key, step * slide, 1.0, 1) for key in "ab"]
        found = stream.batch(tree, rows, (step + 1) * slide)
        last = [row for row in found if row[2] == (step + 1) * slide - size]
        assert sorted((row[1], row[3]) for row in last) == [("a", block), ("b", block)]
        if step > block:
            answers += len(last)
            combined += stream.combined
    slices = Slicing(edges=(Edges(period=slide),), rate=SECOND / slide)
    assert combined / answers <= operations_per_slice(named, [window], slices)
    (stacks,) = stream.known.stacks
    # A row for each interval and key at most; in steps, about twice the root of that.
    most = block if named == QUEUE else 3 * math.isqrt(block)
    assert sum(segment.rows for segment in stacks.segments) <= 2 * most


def test_a_slice_of_a_closed_block_counts_for_the_windows_that_are_open():
    tree = tree_of([Window(size=20, slide=1)], {"n": count()})
    stream = Stream()
    for step in range(50):
        stream.batch(tree, [("a", step, 1.0, 1)], step + 1)
    # Blocks begin at 0, 20 and 40; windows are open from 31 on.
    lates = (45, 35, 33, 31, 30, 12)
    for late in lates:
        assert stream.batch(tree, [("a", late, 1.0, 1)], 50) == []
    found = [row for step in range(50, 60) for row in stream.batch(tree, [], step + 1)]
    # Nothing arrives any more: what is left of the slices, and the late ones that it holds.
    expected = [50 - begin + sum(late >= begin for late in lates) for begin in range(31, 41)]
    assert [row[3] for row in found] == expected


def test_a_checkpoint_of_levels_alone_goes_on_with_stacks():
    tree = tree_of([Window(size=20, slide=1)], {"n": count()})
    stream, levels = Stream(), Stream()
    for step in range(60):
        batch = [("a", step, 1.0, 1), ("b", step // 2, 1.0, 1)]
        ours = stream.batch(tree, batch, step + 1)
        assert same(ours, levels.batch(by(RECALC, tree), batch, step + 1))
        if step == 30:
            # As an earlier version has it.
            state = json.loads(stream.state)
            state["levels"]["3"] = state["levels"]["3"]["levels"]
            for number in (each.number for one in stream.known.stacks for each in one.segments):
                stream.store.remove(number)
            stream.state = json.dumps(state).encode()
            assert not stream.known.stacks
    assert stream.known.stacks
