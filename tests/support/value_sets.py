"""Sets of values as columns of the runtime, one for each row."""

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.value_codes import encode
from muntin.runtime.columns.value_sets import SetColumn, offsets_of


def set_column(rows, kind=None) -> SetColumn:
    """Returns a column of the given sets; without a kind, of 64-bit integers."""
    sets = [list(row) for row in rows]
    values = pa.array([value for each in sets for value in each], kind or pa.int64())
    codes, coding = encode(values, in_order=False)
    lengths = np.array([len(each) for each in sets], np.int64)
    return SetColumn(offsets=offsets_of(lengths), codes=codes, counts=None, coding=coding)
