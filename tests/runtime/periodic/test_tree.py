"""The runtime against the naive answer: every window from the events that it holds."""

from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import count, max_
from muntin.errors import PlanError
from muntin.model.query import Query
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import CumulateWindow, Edges, Slicing, Window
from muntin.model.workload import PlanOptions, workload
from muntin.optimizer.optimize import optimize
from muntin.runtime.periodic import node as node_module
from muntin.runtime.periodic import tree as tree_module
from muntin.runtime.periodic.tree import TreeRuntime
from muntin.techniques.table import TECHNIQUES
from tests.support.examples import examples
from tests.support.periodic_trees import AGGREGATES, batch_of, check, layout_of


@st.composite
def slices(draw):
    """Rows in (key, start) order, with gaps, nulls and single rows."""
    rows = []
    for key in draw(st.lists(st.sampled_from(["a", "b", "c", None]), unique=True, max_size=4)):
        starts = draw(
            st.sets(st.integers(-60, 60) | st.sampled_from([10**6, -(10**9)]), min_size=1)
        )
        for start in sorted(starts):
            x = draw(st.none() | st.integers(-9, 9).map(float))
            rows.append((key, start, x, draw(st.none() | st.integers(-9, 9))))
    return rows


@st.composite
def cuts(draw, rows):
    """The same rows in batches of any size, empty ones too."""
    sizes = draw(st.lists(st.integers(0, 7), max_size=12))
    edges = [0, *np.cumsum(sizes).clip(0, len(rows)).tolist(), len(rows)]
    return list(pairwise(edges))


windows = st.builds(
    lambda slide, extra, offset: Window(size=slide + extra, slide=slide, offset=offset),
    st.integers(1, 9),
    st.integers(0, 30),
    st.integers(0, 8),
) | st.builds(
    lambda slide, steps, offset: CumulateWindow(size=slide * steps, slide=slide, offset=offset),
    st.integers(1, 9),
    st.integers(2, 6),
    st.integers(0, 50),
)


@settings(max_examples=examples(94), deadline=None)
@given(data=st.data(), rows=slices(), asked=st.lists(windows, min_size=1, max_size=3, unique=True))
def test_any_batches_give_the_naive_answers(data, rows, asked):
    queries = [
        Query(name=f"q{i}", window=window, aggregates=AGGREGATES, keys=["k"], time="ts")
        for i, window in enumerate(asked)
    ]
    (tree,) = optimize(workload(queries), "shared").trees
    layout = layout_of(tree, ansi=data.draw(st.booleans()))
    table = batch_of(rows, layout)
    batches = [
        batch
        for first, last in data.draw(cuts(rows))
        for batch in table.slice(first, last - first).combine_chunks().to_batches()
    ]
    with (
        patch.object(node_module, "CHUNK", data.draw(st.integers(1, 9))),
        patch.object(tree_module, "ROWS_AT_ONCE", data.draw(st.integers(1, 9))),
    ):
        check(tree, rows, batches, layout)


def _chain(*, overlapping: bool) -> PeriodicTree:
    """Nodes that read nodes: a factor window, what it feeds, and one step further."""
    # 0    2    4    6    8
    # [---)[---)[---)[---)   the factor window, or
    # [--------)             its overlapping stand-in
    first = Window(size=4, slide=2) if overlapping else Window(size=2, slide=2)
    second, third = Window(size=8, slide=4), Window(size=24, slide=8)
    names = ("top", "low") if overlapping else tuple(AGGREGATES)
    asked = tuple(AGGREGATES[name] for name in names)
    grouping = Query(
        name="q", window=first, aggregates={"n": count()}, keys=["k"], time="ts"
    ).grouping
    nodes = (
        Node(window=first, aggregates=asked),
        Node(window=second, aggregates=asked, parent=first, queries=("b",)),
        Node(window=third, aggregates=asked[:2], parent=first, queries=("c",)),
        Node(
            window=Window(size=32, slide=8),
            aggregates=asked[:1],
            parent=second if overlapping else first,
            queries=("d",),
        ),
    )
    slicing = Slicing(edges=(Edges(period=2),), rate=0.5)
    return PeriodicTree(grouping=grouping, slicing=slicing, nodes=nodes)


def check_in_pieces(data, tree: PeriodicTree, rows) -> None:
    """`check` with the rows cut into batches, and the runtime's chunks small, at random."""
    layout = layout_of(tree)
    table = batch_of(rows, layout)
    batches = [
        batch
        for first, last in data.draw(cuts(rows))
        for batch in table.slice(first, last - first).combine_chunks().to_batches()
    ]
    with patch.object(node_module, "CHUNK", data.draw(st.integers(1, 9))):
        check(tree, rows, batches, layout)


@pytest.mark.parametrize("overlapping", [False, True])
@settings(max_examples=examples(62), deadline=None)
@given(data=st.data(), rows=slices())
def test_nodes_that_read_nodes(overlapping, data, rows):
    tree = _chain(overlapping=overlapping)
    rows = [(key, start // 2 * 2, x, i) for key, start, x, i in rows]
    rows = list({(row[0], row[1]): row for row in rows}.values())
    check_in_pieces(data, tree, rows)


@settings(max_examples=examples(38), deadline=None)
@given(data=st.data(), rows=slices())
def test_of_overlapping_intervals_the_fewest_are_combined(data, rows):
    # 0               16              32
    # [---------------)               the first of 17 intervals inside a window
    #  [---------------)              and so on, one step apart
    #                 [---------------)   the last: these two fill it
    first, asked = Window(size=16, slide=1), (AGGREGATES["top"], AGGREGATES["low"])
    grouping = Query(
        name="q", window=first, aggregates={"n": count()}, keys=["k"], time="ts"
    ).grouping
    nodes = [Node(window=first, aggregates=asked)]
    for window in (Window(size=32, slide=32), Window(size=47, slide=16, offset=3)):
        nodes.append(Node(window=window, aggregates=asked, parent=first, queries=(str(window),)))
    slicing = Slicing(edges=(Edges(period=1),), rate=1.0)
    tree = PeriodicTree(grouping=grouping, slicing=slicing, nodes=tuple(nodes))
    assert [node.reads_fewest for node in nodes] == [False, True, True]
    assert [first.fewest_starts(node.window) for node in nodes[1:]] == [(0, 16), (0, 16, 31)]
    check_in_pieces(data, tree, rows)


def test_memory_is_bounded_by_the_longest_window():
    window = Window(size=10, slide=1)
    query = Query(name="q", window=window, aggregates={"n": count()}, keys=["k"], time="ts")
    (tree,) = optimize(workload([query]), "shared").trees
    layout = layout_of(tree)
    runtime = TreeRuntime(tree, layout)
    rows = [("a", start, 1.0, 1) for start in range(5000)]
    for batch in batch_of(rows, layout).to_batches(max_chunksize=100):
        list(runtime.push(batch))
        kept = runtime._feeds[None].pending
        assert kept is None or len(kept) <= 10


def test_many_windows_of_one_maximum_share_a_deque():
    asked = [Window(size=size, slide=2) for size in range(2, 40)]
    queries = [
        Query(name=f"q{i}", window=window, aggregates={"top": max_("x")}, keys=["k"], time="ts")
        for i, window in enumerate(asked)
    ]
    (tree,) = optimize(workload(queries), "shared").trees
    assert {node.techniques for node in tree.nodes} == {(("recalc",),), (("slick_deque",),)}
    layout = layout_of(tree)
    values = np.random.default_rng(5).integers(0, 30, 400)
    rows = [("a", start, float(x), 1) for start, x in enumerate(values)]
    check(tree, rows, batch_of(rows, layout).to_batches(max_chunksize=70), layout)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_whatever_technique_a_plan_names_the_answers_are_the_same(technique):
    names = ("n", "total") if technique == "subtract" else ("n", "total", "top")
    if technique not in ("subtract", "slick_deque"):
        names = tuple(AGGREGATES)
    asked = {name: AGGREGATES[name] for name in names}
    queries = [
        Query(name=f"q{i}", window=window, aggregates=asked, keys=["k"], time="ts")
        for i, window in enumerate([Window(size=6, slide=6), Window(size=15, slide=3)])
    ]
    (tree,) = optimize(workload(queries, options=PlanOptions(technique=technique)), "shared").trees
    assert {name for node in tree.nodes for each in node.techniques for name in each} == {technique}
    layout = layout_of(tree)
    values = np.random.default_rng(7).integers(-30, 30, 90).tolist()
    rows = [("ab"[start > 50], start, float(x), x) for start, x in enumerate(values)]
    check(tree, rows, batch_of(rows, layout).to_batches(max_chunksize=20), layout)


def test_a_gap_of_ages_costs_nothing():
    window = Window(size=3, slide=1)
    query = Query(name="q", window=window, aggregates={"n": count()}, keys=["k"], time="ts")
    (tree,) = optimize(workload([query]), "shared").trees
    layout = layout_of(tree)
    rows = [("a", -(10**17), 1.0, 1), ("a", 10**17, 1.0, 1)]
    answers = TreeRuntime(tree, layout).run(batch_of(rows, layout).to_batches())
    assert sum(batch.num_rows for batch in answers) == 6


def test_a_technique_that_the_aggregate_does_not_allow_is_refused():
    query = Query(
        name="q", window=Window(size=3, slide=1), aggregates={"m": max_("x")}, keys=["k"], time="ts"
    )
    (tree,) = optimize(workload([query]), "shared").trees
    (node,) = tree.nodes
    wrong = replace(tree, nodes=(replace(node, techniques=(("subtract",),)),))
    layout = layout_of(wrong)
    batches = batch_of([("a", 0, 1.0, 1)], layout).to_batches()
    with pytest.raises(PlanError, match="subtract needs an exact inverse"):
        list(TreeRuntime(wrong, layout).run(batches))
