"""Slices of many groupings at once against a naive group-by."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import Component
from muntin.errors import PlanError
from muntin.runtime.slicer import finest
from muntin.runtime.slicer.finest import FinestSlices
from muntin.runtime.slicer.packing import unpack
from muntin.runtime.slicer.slicer_tree import SlicerTree
from tests.support.examples import examples
from tests.support.slicing import (
    COMPONENTS,
    assert_same_slices,
    events_tree,
    layout_of,
    naive_slices,
    read_slices,
    sliced,
    slicing,
)

NAN, INF = float("nan"), float("inf")
SCHEMA = pa.schema(
    {
        "t": pa.int64(),
        "d": pa.string(),
        "k": pa.int32(),
        "x": pa.float64(),
        "y": pa.float64(),
        "i": pa.int64(),
        "b": pa.bool_(),
        "f": pa.int64(),
    }
)
floats = st.none() | st.integers(-40, 40).map(lambda n: n / 4) | st.sampled_from([NAN, INF, -0.0])
events = st.lists(
    st.fixed_dictionaries(
        {
            "t": st.integers(-60, 60) | st.sampled_from([None, -(10**15), 10**15]),
            "d": st.sampled_from(["a", "b", "", "a long name of a device", None]),
            "k": st.sampled_from([1, 2, None]),
            "x": floats,
            "y": floats,
            "i": st.none() | st.integers(-9, 9),
            "b": st.none() | st.booleans(),
            "f": st.integers(0, 7),
        }
    ),
    max_size=40,
)
# 0    5    10   15   20
# |----|----|----|----|      equal
# |-|----|-|----|-|---       two progressions
SLICINGS = (
    slicing((5, 0)),
    slicing((1, 0)),
    slicing((30, 7)),
    slicing((7, 0), (7, 2)),
    slicing((6, 1), (10, 3), (15, 0)),
)
trees = st.builds(
    lambda keys, where, masks, part, ansi, components: dict(
        keys=keys, where=where, masks=masks, ansi=ansi, components=components, **part
    ),
    st.sampled_from([("d",), ("k",), ("d", "k"), ("k", "d"), ()]),
    st.sampled_from(SLICINGS),
    st.sampled_from([{}, {}, {"f": 1}, {"f": 6}, {"f": 7, "k": 1}]),
    st.sampled_from([{}, {"part_width": 50, "longest": 12}, {"part_width": 3, "longest": 10}]),
    st.booleans(),
    st.sampled_from([COMPONENTS, COMPONENTS[:1], COMPONENTS[3:5]]),
)


# Trees are folded from finest slices, however few they are.
ALWAYS_FOLDED = {"trees_to_fold": 1, "events_to_fold": 0}


def batches_of(rows, sizes=()):
    """Rows as batches of these sizes, the rest in one."""
    batches, first = [], 0
    whole = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    for size in (*sizes, len(rows)):
        batches.append(whole.slice(first, size))
        first = min(first + size, len(rows))
    return batches


def with_bits(partials, *, above_zero, bits):
    """Partials as the rows of a pass, with bits set where a count is above zero."""
    counts = partials.column(above_zero).to_pylist()
    column = pa.array([bits if count and count > 0 else 1 for count in counts], pa.int64())
    return partials.rename_columns({"start": "t"}).append_column("bits", column)


@settings(max_examples=examples(56), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=events,
    made=st.lists(trees, min_size=1, max_size=5),
    sizes=st.lists(st.integers(0, 9), max_size=4),
    rows_at_once=st.integers(1, 50),
    buckets=st.integers(1, 5),
    folded=st.sampled_from([{}, ALWAYS_FOLDED, ALWAYS_FOLDED]),
)
def test_many_groupings_of_events(rows, made, sizes, rows_at_once, buckets, folded):
    asked = [events_tree(number=number, **options) for number, options in enumerate(made)]
    batches = batches_of(rows, sizes)
    packed = sliced(asked, batches, buckets=buckets, rows_at_once=rows_at_once, **folded)
    for tree in asked:
        # A mask of null leaves a row out, as a filter that is null does.
        mine = [row for row in rows if all(row[name] is not None for name in tree.masks)]
        expected = naive_slices(tree, mine)
        assert_same_slices(read_slices(tree, packed[tree.number]), expected)


def test_many_trees_are_folded_only_from_slices_of_several_events(monkeypatch):
    made = []
    monkeypatch.setattr(finest, "FinestSlices", lambda *given: made.append(given) or real(*given))
    real = FinestSlices
    # Ten events of each device in ten seconds, four of them with the bits 1 and 4.
    rows = [{"t": t, "d": "ab"[t % 2], "k": t, "x": t / 4, "f": 5 * (t % 5 < 2)} for t in range(60)]
    asked = [
        events_tree(keys, where, COMPONENTS[:2], number=number, masks=masks)
        for number, (keys, where, masks) in enumerate(
            [((), slicing((40, 0)), {}), (("d",), slicing((20, 0)), {"f": 1})] * 4
        )
    ]
    for keys, times in ((("d",), 1), (("d", "k"), 0)):
        trees = [*asked[1:], events_tree(keys, slicing((20, 0)), COMPONENTS[3:4])]
        made.clear()
        packed = sliced(trees, batches_of(rows))
        assert len(made) == times
        for tree in trees:
            found = read_slices(tree, packed[tree.number])
            assert_same_slices(found, naive_slices(tree, rows))
    sliced(asked[:7], batches_of(rows))
    assert len(made) == 0


def test_one_chunk_gives_one_partial_for_each_key_and_slice():
    rows = [{"t": t, "d": "ab"[t % 2], "x": 1.0} for t in range(20)]
    tree = events_tree(("d",), slicing((10, 0)), COMPONENTS[:1])
    packed = sliced([tree], batches_of(rows, [7]), buckets=1)[0]
    assert unpack(packed[0], tree.layout).to_pydict() == {
        "d": ["a", "a", "b", "b"],
        "start": [0, 10, 0, 10],
        "c0": [5, 5, 5, 5],
    }


def test_floats_are_added_in_the_order_of_the_rows():
    values = [1e16, 1.0, -1e16, 1.0]
    rows = [{"t": 0, "d": "a", "x": value} for value in values]
    tree = events_tree(("d",), slicing((10, 0)), (Component(kind="sum", argument="x"),))
    ((stream,),) = sliced([tree], batches_of(rows), buckets=1)[0].values()
    assert unpack([stream], tree.layout).column("c0").to_pylist() == [1.0]


def test_sums_that_overflow_are_told():
    rows = [{"t": 0, "i": value} for value in (2**63 - 1, 2**63 - 1, 5, None)]
    tree = events_tree((), slicing((10, 0)), (Component(kind="sum", argument="i"),), ansi=True)
    ((stream,),) = sliced([tree], batches_of(rows), buckets=1)[0].values()
    (row,) = unpack([stream], tree.layout).to_pylist()
    assert row["c0_0"] + row["c0_1"] * 2**64 == 2 * (2**63 - 1) + 5


def test_a_chunk_has_bounded_bytes():
    rows = [{"t": 0, "d": "x" * 1000} for _ in range(100)]
    tree = events_tree(("d",), slicing((10, 0)), COMPONENTS[:1])
    for batches in (batches_of(rows), batches_of(rows, [1] * 100)):
        (streams,) = sliced([tree], batches, bytes_at_once=10_000)[0].values()
        counts = [unpack([stream], tree.layout).column("c0")[0].as_py() for stream in streams]
        assert sum(counts) == 100
        assert max(counts) <= 11


def test_no_rows_make_no_slices():
    tree = events_tree(("d",), slicing((10, 0)))
    assert sliced([tree], []) == sliced([tree], batches_of([])) == {0: {}}
    assert unpack([], tree.layout).num_rows == 0
    assert unpack([], tree.layout).schema.names[:2] == ["d", "start"]


def test_trees_without_keys_are_in_a_bucket_by_their_number():
    asked = [events_tree((), slicing((10, 0)), COMPONENTS[:1], number=n) for n in range(6)]
    packed = sliced(asked, batches_of([{"t": 3}]), buckets=4)
    assert [list(packed[number]) for number in range(6)] == [[0], [1], [2], [3], [0], [1]]
    split = events_tree((), slicing((10, 0)), COMPONENTS[:1], number=2, part_width=100, longest=10)
    packed = sliced([split], batches_of([{"t": t} for t in range(0, 9000, 10)]), buckets=4)
    assert sorted(packed[2]) == [0, 1, 2, 3]


def test_parts_that_cannot_be_are_refused():
    with pytest.raises(PlanError, match="both above zero, not 0 and 5"):
        events_tree((), slicing((10, 0)), part_width=0, longest=5)


@settings(max_examples=examples(31), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=events,
    keys=st.sampled_from([("d",), ("k",), ("d", "k"), ()]),
    where=st.sampled_from([slicing((5, 0)), slicing((10, 0), (15, 5)), slicing((5, 0), (7, 0))]),
    ansi=st.booleans(),
    rows_at_once=st.integers(3, 50),
    part=st.sampled_from([{}, {"part_width": 50, "longest": 12}]),
)
def test_partials_of_finer_slices_make_coarser_ones(rows, keys, where, ansi, rows_at_once, part):
    # Finer slices must be cut where coarser ones are.
    finer = slicing(*((each.period, each.phase) for each in where.edges), (5, 0))
    fine = events_tree(("k", "d"), finer, ansi=ansi)
    coarse = SlicerTree(
        number=1,
        layout=layout_of(COMPONENTS, keys, ansi=ansi),
        slicing=where,
        masks={"bits": 6},
        **part,
    )
    partials = [
        with_bits(unpack(streams, fine.layout), above_zero="c1", bits=6)
        for streams in sliced([fine], batches_of(rows), rows_at_once=rows_at_once)[0].values()
    ]
    packed = sliced([coarse], partials, rows_at_once=rows_at_once)[1]
    asked = events_tree(keys, where, ansi=ansi, **part)
    # Partials whose count of x is zero are left out, so the events without x beside them are kept
    # only where another event of their finest slice has one.
    counted = naive_slices(fine, rows)
    seen = {place for place, each in counted.items() if each[COMPONENTS[1]] > 0}
    kept = [row for row in rows if naive_slices(fine, [row]).keys() & seen]
    if rows_at_once >= len(rows):
        assert_same_slices(read_slices(coarse, packed), naive_slices(asked, kept))
    else:
        # Slices that several chunks have are judged one by one, so their places agree at least.
        assert read_slices(coarse, packed).keys() == naive_slices(asked, kept).keys()


@settings(max_examples=examples(19), deadline=None)
@given(rows=events, part=st.sampled_from([{}, {"part_width": 50, "longest": 12}]))
def test_slices_that_are_whole_are_only_selected(rows, part):
    fine = events_tree(("k", "d"), slicing((5, 0)))
    whole = SlicerTree(
        number=1, layout=fine.layout, slicing=fine.slicing, masks={"bits": 5}, is_whole=True, **part
    )
    partials = [
        with_bits(unpack(streams, fine.layout), above_zero="c0", bits=5)
        for streams in sliced([fine], batches_of(rows))[0].values()
    ]
    found = read_slices(whole, sliced([whole], partials, rows_at_once=7)[1])
    asked = events_tree(("k", "d"), slicing((5, 0)), **part)
    assert_same_slices(found, naive_slices(asked, rows))
