"""Keys of every type that Spark groups by: null is null, NaN is NaN, and lists go deep."""

import datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.runtime.columns.keys import changes, sort_slices

NAN = float("nan")


def alike(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return all(alike(a[name], b[name]) for name in a)
    return type(a) is type(b) and a == b


floats = st.none() | st.sampled_from([NAN, 1.0, 2.0])
lists = st.none() | st.lists(floats, max_size=3)
structs = st.none() | st.fixed_dictionaries({"a": floats, "b": lists})
TYPES = {
    "float": (floats, pa.float64()),
    "list": (lists, pa.list_(pa.float64())),
    "struct": (structs, pa.struct([("a", pa.float64()), ("b", pa.list_(pa.float64()))])),
    "list of structs": (
        st.none() | st.lists(structs, max_size=2),
        pa.list_(pa.struct([("a", pa.float64()), ("b", pa.list_(pa.float64()))])),
    ),
}


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_rows_are_the_same_when_their_values_are(name, data):
    values, kind = TYPES[name]
    rows = data.draw(st.lists(values, min_size=1, max_size=16))
    found = changes([pa.array(rows, kind)])
    assert found.tolist() == [not alike(a, b) for a, b in pairwise(rows)]


@pytest.mark.parametrize(
    "values",
    [
        ["a", "a", None, None, "", "ü"],
        [1, 1, None, 2],
        [True, False, False, None],
        [b"x", b"x", b""],
        [Decimal("1.5"), Decimal("1.5"), None],
        [datetime.date(1969, 1, 1), datetime.date(1969, 1, 1), None],
        [datetime.datetime(1969, 1, 1), datetime.datetime(2000, 1, 1), None],
        [None, None],
    ],
)
def test_changes_between_rows(values):
    expected = [not alike(a, b) for a, b in pairwise(values)]
    assert changes([pa.array(values)]).tolist() == expected


def test_a_key_of_several_columns_changes_with_any_of_them():
    columns = [pa.array([1, 1, 1, 2]), pa.array(["a", "a", "b", "b"])]
    assert changes(columns).tolist() == [False, True, True]


def test_slices_of_arrays_are_compared_as_slices():
    array = pa.array([[1.0], [2.0], [2.0], None, [3.0, 4.0]]).slice(1, 3)
    assert np.array_equal(changes([array]), [False, True])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60))
def test_rows_come_by_key_and_start_and_equal_ones_as_they_were(rows):
    keys, starts = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    table = pa.table({"k": keys, "start": starts, "row": np.arange(len(rows))})
    # Keys are numbered as they first appear.
    first = {key: number for number, key in enumerate(dict.fromkeys(keys.tolist()))}
    by = sorted(range(len(rows)), key=lambda row: (first[keys[row]], starts[row]))
    assert sort_slices(table, ("k",), "start").column("row").to_pylist() == by
