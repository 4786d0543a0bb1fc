"""Sets of values as columns of the runtime, one for each row."""

import numpy as np
import pyarrow as pa

from muntin.runtime.entries.entry_codes import encode
from muntin.runtime.entries.entry_column import EntryColumn, ends


def entry_column(rows, kind=None) -> EntryColumn:
    """Returns a column of the given sets; without a kind, of 64-bit integers."""
    sets = [list(row) for row in rows]
    values = pa.array([value for each in sets for value in each], kind or pa.int64())
    codes, coding = encode(values, in_order=False)
    lengths = np.array([len(each) for each in sets], np.int64)
    return EntryColumn(offsets=ends(lengths), codes=codes, counts=None, coding=coding)
