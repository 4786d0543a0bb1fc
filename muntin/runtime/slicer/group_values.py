"""Makes the sets of values of each group from rows that have one value each."""

from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.distinct import Distinct, distinct_integers, distinct_pairs
from muntin.runtime.columns.key_codes import canonical, encoded
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.partials import Bools, Coding
from muntin.runtime.entries.entry_column import EntryColumn, ends
from muntin.runtime.entries.entry_lists import has_counts
from muntin.runtime.slicer.groups import Groups
from muntin.techniques.compiled.compile import compiled


class RowValues:
    """The values of a component, one a row, as numbers of distinct ones."""

    def __init__(self, column: pa.Array, *, tells_zeros_apart: bool) -> None:
        self.valid: Bools | None = None
        if column.null_count:
            self.valid = column.is_valid().to_numpy(zero_copy_only=False)
        if tells_zeros_apart and pa.types.is_floating(column.type):
            self.codes = _bits(column, self.valid)
            values = column.take(pa.array(self.codes.firsts))
        else:
            self.codes = encoded(column)
            values = canonical(column.take(pa.array(self.codes.firsts)))
        self.coding = Coding(kind=column.type, values=values)


def _bits(column: pa.Array, valid: Bools | None) -> Distinct:
    """Number floats by their bits: -0.0 is not 0.0, and NaN is one value."""
    values = np.array(column.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
    values[np.isnan(values)] = np.nan
    return distinct_integers(values.view(np.int64), valid)


def sets_of(values: RowValues, groups: Groups, entry: Kept) -> EntryColumn:
    """Returns the set of values of each group, with how often each occurs if that is kept."""
    codes = values.codes.numbers if groups.rows is None else values.codes.numbers[groups.rows]
    rows = None
    if values.valid is not None:
        valid = values.valid if groups.rows is None else values.valid[groups.rows]
        rows = np.flatnonzero(valid)
    sizes = values.codes.count, groups.count
    found = distinct_pairs(codes, groups.numbers, sizes, rows)
    owners = groups.numbers[found.firsts]
    offsets = ends(np.bincount(owners, minlength=groups.count))
    order = np.empty(len(owners), np.int64)
    _place(owners, offsets[:-1].copy(), order)
    counts = None
    if has_counts(entry.monoid):
        counts = np.bincount(found.numbers, minlength=found.count).astype(np.int64)[order]
    return EntryColumn(
        offsets=offsets,
        codes=codes[found.firsts][order].astype(np.int64),
        counts=counts,
        coding=values.coding,
    )


def _order_by_owner(owners: Any, places: Any, order: Any) -> None:
    """Fill `order` with the entries of each owner, one owner after the other."""
    for entry in range(len(owners)):
        owner = owners[entry]
        order[places[owner]] = entry
        places[owner] += 1


_place = compiled(_order_by_owner)
