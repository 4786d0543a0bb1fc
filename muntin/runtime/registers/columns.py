"""Columns of registers: read, made of events, united, written back and turned into estimates.

The integers of such a column are the codes of single events (`rows.codes_of`), or the places of
rows among the values of its coding.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.precision import precision
from muntin.runtime.columns.partials import Bools, Coding, Int64s, PartialColumn
from muntin.runtime.registers import estimate, union
from muntin.runtime.registers.rows import arrow_of, codes_of, rows_of

_KIND = pa.large_binary()


def of_hashes(component: Component, hashes: Int64s, there: Bools) -> PartialColumn:
    """Returns the register that each event raises, from the hashes of their values."""
    bits = _bits(component)
    codes = np.where(there, codes_of(hashes, bits), 0)
    return PartialColumn(scalars=(codes,), coding=Coding(kind=_KIND, bits=bits))


def read_registers(component: Component, column: pa.Array) -> PartialColumn:
    """Returns partials from their column of the slices; a null has no register."""
    return _of_rows(column.cast(_KIND), _bits(component))


def united_by_group(
    column: PartialColumn, rows: Int64s | None, numbers: Any, count: int
) -> PartialColumn:
    """Returns the registers of each of `count` groups; `numbers` has the group of each of `rows`,
    or of all."""
    (codes,), values, bits = column.scalars, *_coded(column)
    if values is None:
        return _of_rows(arrow_of(*union.of_groups(codes, rows, numbers, count, bits)), bits)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=count))
    chosen = column.where(order if rows is None else rows[order])
    return united(chosen, np.concatenate([[0], ends[:-1]]), ends, anew=True)


def united(column: PartialColumn, lows: Int64s, highs: Int64s, *, anew: bool) -> PartialColumn:
    """Returns the unions of rows `[lows[i], highs[i])`; no bound decreases.

    With `anew` each is made by itself, else by two stacks.
    """
    (codes,), values, bits = column.scalars, *_coded(column)
    if values is None:
        assert not len(lows)
        return column
    made = union.of_ranges(rows_of(values), codes, lows, highs, bits, anew=anew)
    return _of_rows(arrow_of(*made), bits)


def joined_registers(
    older: PartialColumn, newer: PartialColumn
) -> tuple[PartialColumn, PartialColumn]:
    """Returns two columns over values that have the rows of both."""
    assert newer.coding is not None
    values = pa.concat_arrays([written(older), written(newer)])
    coding = replace(newer.coding, values=values)
    first, both = len(older.scalars[0]), np.arange(len(values))
    return (
        replace(older, scalars=(both[:first],), coding=coding),
        replace(newer, scalars=(both[first:],), coding=coding),
    )


def written(column: PartialColumn) -> pa.Array:
    """Returns rows of registers as an Arrow column."""
    values, _ = _coded(column)
    assert values is not None
    return values.take(pa.array(column.scalars[0]))


def distinct_counts(column: PartialColumn) -> pa.Array:
    """Returns the estimates of rows of registers."""
    values, bits = _coded(column)
    assert values is not None
    return pa.array(estimate.estimates(rows_of(values), column.scalars[0], bits))


def _of_rows(values: pa.Array, bits: int) -> PartialColumn:
    coding = Coding(kind=_KIND, values=values, bits=bits)
    return PartialColumn(scalars=(np.arange(len(values)),), coding=coding)


def _coded(column: PartialColumn) -> tuple[pa.Array | None, int]:
    assert column.coding is not None
    assert column.coding.bits is not None
    return column.coding.values, column.coding.bits


def _bits(component: Component) -> int:
    bits = precision(component.parameters)
    assert bits is not None
    return bits
