"""Keys of every type: grouped, given out and put into buckets as values, not as codes."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.runtime.slicer.packing import unpack
from tests.support.examples import examples
from tests.support.keys import KEYS
from tests.support.slicing import (
    COMPONENTS,
    assert_same_slices,
    events_tree,
    hashable,
    naive_slices,
    read_slices,
    sliced,
    slicing,
)


def batch_of(rows, kind):
    return pa.RecordBatch.from_pydict(
        {
            "t": pa.array([t for t, _, _ in rows], pa.int64()),
            "k": pa.array([k for _, k, _ in rows], kind),
            "n": pa.array([n for _, _, n in rows], pa.int32()),
        }
    )


def rows_of(keys):
    return st.lists(st.tuples(st.integers(-9, 9), keys, st.integers(0, 2)), max_size=12)


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_keys_of_every_type(name, data):
    values, kind = KEYS[name]
    rows = data.draw(rows_of(values))
    first = data.draw(st.integers(0, 3))
    batch = batch_of(rows, kind).slice(first)
    asked = [
        events_tree(keys, slicing((5, 0)), COMPONENTS[:1], number=number)
        for number, keys in enumerate([("k",), ("k", "n"), ("n", "k")])
    ]
    packed = sliced(asked, [batch], rows_at_once=data.draw(st.integers(1, 13)))
    events = [{"t": t, "k": k, "n": n} for t, k, n in rows[first:]]
    for tree in asked:
        found = read_slices(tree, packed[tree.number])
        assert_same_slices(found, naive_slices(tree, events))
        for streams in packed[tree.number].values():
            table = unpack(streams, tree.layout)
            assert table.schema.field("k").type == kind
            table.validate(full=True)


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_a_key_is_in_one_bucket_in_every_batch(name, data):
    values, kind = KEYS[name]
    buckets: dict = {}
    for rows in data.draw(st.lists(rows_of(values), min_size=2, max_size=3)):
        for keys in (("k",), ("k", "n")):
            tree = events_tree(keys, slicing((5, 0)), COMPONENTS[:1])
            for bucket, streams in sliced([tree], [batch_of(rows, kind)], buckets=97)[0].items():
                for row in unpack(streams, tree.layout).to_pylist():
                    key = (keys, *(hashable(row[key]) for key in keys))
                    assert buckets.setdefault(key, bucket) == bucket


def test_keys_are_spread_over_buckets():
    tree = events_tree(("k",), slicing((5, 0)), COMPONENTS[:1])
    batch = batch_of([(0, f"device-{n}", 0) for n in range(4000)], pa.string())
    sizes = [
        unpack(streams, tree.layout).num_rows
        for streams in sliced([tree], [batch], buckets=8)[0].values()
    ]
    assert len(sizes) == 8
    assert max(sizes) < 600
