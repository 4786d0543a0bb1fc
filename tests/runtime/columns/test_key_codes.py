"""Codes and hashes of keys are equal exactly when the keys are, for every type."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.runtime.columns.distinct import distinct_integers
from muntin.runtime.columns.key_codes import (
    hash_values,
    mixed_radix,
    normalize_floats,
    number_values,
)
from muntin.runtime.columns.keys import sort_slices
from tests.support.examples import examples
from tests.support.keys import KEYS
from tests.support.slicing import hashable


def column_of(data, name):
    """Values of a type as an array, maybe a slice of a longer one."""
    values, kind = KEYS[name]
    rows = data.draw(st.lists(values, max_size=12))
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    first = min(before, len(rows))
    length = max(len(rows) - first - after, 0)
    return pa.array(rows, kind).slice(first, length)


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=examples(19), deadline=None)
@given(data=st.data())
def test_rows_have_one_code_when_their_keys_are_equal(name, data):
    column = column_of(data, name)
    rows = [hashable(value) for value in column.to_pylist()]
    codes = number_values(column)
    assert len(set(zip(rows, codes.numbers.tolist(), strict=True))) == len(set(rows))
    assert codes.count == len(set(rows))
    assert codes.numbers[codes.firsts].tolist() == list(range(codes.count))


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=examples(19), deadline=None)
@given(data=st.data())
def test_equal_keys_have_equal_hashes_whatever_array_they_are_in(name, data):
    first, second = column_of(data, name), column_of(data, name)
    by_key = {}
    for column in (first, second, normalize_floats(first), pa.concat_arrays([second, first])):
        for value, code in zip(column.to_pylist(), hash_values(column).tolist(), strict=True):
            assert by_key.setdefault(hashable(value), code) == code
    # So few values have no hash in common, unless they are one value.
    assert len(set(by_key.values())) == len(by_key)


@pytest.mark.parametrize("name", KEYS)
@settings(max_examples=examples(19), deadline=None)
@given(data=st.data())
def test_canonical_keys_are_the_same_keys_of_the_same_type(name, data):
    column = column_of(data, name)
    made = normalize_floats(column)
    assert made.type == column.type
    made.validate(full=True)
    assert [hashable(v) for v in made.to_pylist()] == [hashable(v) for v in column.to_pylist()]


def test_canonical_floats_have_one_zero_and_one_nan():
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x8000000000000000], np.uint64)
    values = pa.array(odd.view(np.float64))
    expected = np.array([np.nan, np.nan, 0.0]).view(np.uint64).tolist()
    assert normalize_floats(values).view(pa.uint64()).to_pylist() == expected
    inside = normalize_floats(pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), values))
    assert inside.flatten().view(pa.uint64()).to_pylist() == expected


def test_hashes_never_change():
    # Keys are in buckets by their hash, and the state of a stream is kept by bucket.
    values = ("", "device-17", 17, 1.5, None, [1, 2], {"a": 1, "b": "x"}, True)
    assert [hash_values(pa.array([value]))[0] for value in values] == [
        -7160610219483255062,
        -3134743811432768509,
        1157607592969487614,
        7351859405162335610,
        0,
        1658320658368217863,
        4693117093530132083,
        7735385641101645953,
    ]


@pytest.mark.parametrize("count", [10, 5_000, 200_000])
def test_tables_grow_with_the_values(count):
    random = np.random.default_rng(3)
    values = random.integers(-(2**62), 2**62, count)
    rows = values[random.integers(0, count, 300_000)]
    for column, back in (
        (pa.array(rows), lambda array: array.to_numpy()),
        (pa.array(rows).cast(pa.string()), lambda array: array.cast(pa.int64()).to_numpy()),
    ):
        codes = number_values(column)
        assert codes.count == len(np.unique(rows))
        assert np.array_equal(back(column.take(pa.array(codes.firsts)))[codes.numbers], rows)


def test_many_columns_overflow_into_dense_numbers():
    random = np.random.default_rng(4)
    columns = [random.integers(0, 1000, 1000) for _ in range(12)]
    codes = [distinct_integers(column) for column in columns]
    numbers, size = mixed_radix(codes, 1000)
    assert len(np.unique(numbers)) == len({*zip(*columns, strict=True)})
    assert 0 <= numbers.min() <= numbers.max() < size


def test_rows_of_nested_keys_are_ordered():
    table = pa.table(
        {
            "k": pa.array([[1, None], None, [1, None], [], None], pa.list_(pa.int64())),
            "start": [2, 1, 1, 0, 0],
        }
    )
    assert sort_slices(table, ("k",), "start").to_pydict() == {
        "k": [[1, None], [1, None], [], None, None],
        "start": [1, 2, 0, 0, 1],
    }
