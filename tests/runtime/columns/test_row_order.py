"""Rows of slices are put in order by key and start, whatever order they arrive in."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from muntin.runtime.columns.row_order import sort_slices


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60))
def test_rows_come_by_key_and_start_and_equal_ones_as_they_were(rows):
    keys, starts = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    table = pa.table({"k": keys, "start": starts, "row": np.arange(len(rows))})
    # Keys are numbered as they first appear.
    first = {key: number for number, key in enumerate(dict.fromkeys(keys.tolist()))}
    by = sorted(range(len(rows)), key=lambda row: (first[keys[row]], starts[row]))
    assert sort_slices(table, ("k",), "start").column("row").to_pylist() == by
