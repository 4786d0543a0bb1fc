"""Events are cut under each slicing, and the answers are the naive ones; partials per window are
those of Incremental MQO's table 1 and of the papers' figures."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import PlanError
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.trees import DataTree
from muntin.model.windows import Window
from muntin.model.workload import PlanOptions, workload
from muntin.optimizer.edges import SLICINGS, partials_per_window
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.data_windows.cutter import Cutter
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.data_windows.tree import DataTreeRuntime
from muntin.runtime.slicer.packing import ROWS, unpack
from muntin.runtime.slicer.slicer import Slicer
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.layout import Layout
from tests.support.examples import examples
from tests.support.periodic_trees import AGGREGATES, check, check_answers, layout_of, storages_of
from tests.support.slicing import columns_of
from tests.support.window_sets import windows

events = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.integers(-60, 60) | st.sampled_from([10**6, -(10**9)]),
        st.none() | st.integers(-9, 9).map(float),
        st.none() | st.integers(-9, 9),
    ),
    max_size=30,
)


def asked(each, **options):
    """A workload with a query for each window."""
    queries = [
        Query(name=f"q{i}", window=window, aggregates=AGGREGATES, keys=["k"], time="ts")
        for i, window in enumerate(each)
    ]
    return workload(queries, options=PlanOptions(**options))


def slices_of(tree, layout, rows):
    """The slices of events, made by the slicer."""
    values = {each.component: columns_of(each.component) for each in layout.storages}
    slicer_tree = SlicerTree(number=0, layout=layout, slicing=tree.slicing, values=values)
    keys, times, xs, numbers = zip(*rows, strict=True)
    batch = pa.RecordBatch.from_pydict(
        {
            "k": pa.array(keys, pa.string()),
            "t": pa.array(times, pa.int64()),
            "x": pa.array(xs, pa.float64()),
            "i": pa.array(numbers, pa.int64()),
        }
    )
    packed = list(Slicer([slicer_tree], time="t", buckets=1).run([batch]))
    return unpack([row[ROWS] for each in packed for row in each.to_pylist()], layout)


@settings(max_examples=examples(60), deadline=None)
@given(
    rows=events,
    each=st.lists(windows(most=9), min_size=1, max_size=3, unique=True),
    slicing=st.sampled_from([None, "panes", "pairs"]),
    strategy=st.sampled_from(["auto", "shared", "factor", "weave", "subsume"]),
)
def test_answers_are_the_naive_ones_under_each_slicing(rows, each, slicing, strategy):
    plan = optimize(asked(each, slicing=slicing), strategy)
    for tree in plan.trees:
        layout = layout_of(tree)
        batches = [slices_of(tree, layout, rows)] if rows else []
        check(tree, rows, batches, layout)
        if slicing == "panes":
            assert tree.slicing.width is not None


@settings(max_examples=examples(40), deadline=None)
@given(rows=events, each=st.lists(windows(most=9), min_size=1, max_size=3, unique=True))
def test_answers_are_the_naive_ones_under_cutty(rows, each):
    plan = optimize(asked(each, slicing="cutty"), "shared")
    ending_inside = {window for window in each if window.size % window.slide}
    records = {node.window for tree in plan.data_trees for node in tree.nodes}
    assert records == ending_inside
    for tree in plan.periodic_trees:
        layout = layout_of(tree)
        check(tree, rows, [slices_of(tree, layout, rows)] if rows else [], layout)
    for tree in plan.data_trees:
        if rows:
            _, layout, found = run_records(tree, rows)
            check_answers(tree, rows, found, layout)
    streamed = plan_for_stream(plan)
    assert {node.window for tree in streamed.data_trees for node in tree.nodes} == ending_inside


def record_layout(tree):
    """The columns of events: `x` is a float, `i` an integer."""
    storages = storages_of(tree)
    return RecordLayout(
        layout=Layout(key_columns=("k",), start="t", storages=storages),
        conditions={},
        measures={},
        columns={},
        values={each.component: columns_of(each.component) for each in storages},
    )


def run_records(tree, rows):
    """The runtime of a tree of records, and its answers."""
    layout = record_layout(tree)
    order = sorted(rows, key=lambda row: (row[0] or "", row[1]))
    keys, times, xs, numbers = zip(*order, strict=True)
    batch = pa.RecordBatch.from_pydict(
        {
            "k": pa.array(keys, pa.string()),
            "t": pa.array(times, pa.int64()),
            "x": pa.array(xs, pa.float64()),
            "i": pa.array(numbers, pa.int64()),
        }
    )
    runtime = DataTreeRuntime(tree, layout)
    return runtime, layout.layout, list(runtime.run([batch]))


# Range and slide of the papers' figures, with the partials of a window under each slicing.
FIGURES = [
    # Incremental MQO, figure 3, for Pairs.
    (14, 8, {"panes": 7, "pairs": 3, "cutty": 2}),
    # Incremental MQO, figure 4, for Cutty slicing.
    (5, 3, {"panes": 5, "pairs": 3, "cutty": 2}),
    # Cutty, figure 7.
    (10, 3, {"panes": 10, "pairs": 7, "cutty": 4}),
]


@pytest.mark.parametrize(("size", "slide", "partials"), FIGURES)
def test_partials_of_a_window_are_those_of_the_figures(size, slide, partials):
    window = Window(size=size * SECOND, slide=slide * SECOND)
    assert {name: partials_per_window(name, window) for name in SLICINGS} == partials
    rows = [("a", second * SECOND, 1.0, 1) for second in range(200)]
    first = 10 * slide
    for name, count in partials.items():
        (tree,) = optimize(asked([window], slicing=name), "auto").trees
        if isinstance(tree, DataTree):
            # As many slices as windows begin: each starts where one begins.
            runtime, _, _ = run_records(tree, rows)
            (cutter,) = [each for each, _ in runtime.readers if isinstance(each, Cutter)]
            starts = [*range(0, 200, slide)]
            assert cutter._base + len(cutter._leaves) == len(starts)
        else:
            column = slices_of(tree, layout_of(tree), rows).column("start")
            starts = [start // SECOND for start in column.to_pylist()]
        assert sum(first <= start < first + size for start in starts) == count


def test_a_slicing_that_does_not_exist_or_cannot_serve_is_refused():
    window = Window(size=5 * SECOND, slide=3 * SECOND)
    with pytest.raises(PlanError, match="did you mean 'panes'"):
        optimize(asked([window], slicing="pane"))
    query = Query(
        name="q", window=window, aggregates=AGGREGATES, keys=["k"], sets=[["k"], []], time="ts"
    )
    with pytest.raises(PlanError, match=r"'q': grouping sets .* 'pairs' can serve it"):
        optimize(workload([query], options=PlanOptions(slicing="cutty")))
