"""Lifts records: turns each into a partial of every component."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.monoids import ADD_WIDE, REGISTERS
from muntin.model.aggregates.parts import FLOAT, INTEGER, is_typed
from muntin.model.aggregates.user_aggregate import UserComponent
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.partials import Bools, Column, PartialColumn, scalars_of
from muntin.runtime.columns.typed_partials import beside, read_typed, write_typed
from muntin.runtime.entries.entry_lists import read_entries, write_entries
from muntin.runtime.entries.entry_ranges import as_entries
from muntin.runtime.registers.columns import of_hashes, read_registers, written


def lifted(
    entry: Kept, batch: pa.RecordBatch, values: Mapping[Component, tuple[str, ...]] | None
) -> PartialColumn:
    """Returns a component's partials, one for each record of a batch.

    `values` names the columns of each component's arguments, which are null where its filter leaves
    a row out; a component without columns counts every row. Without `values` the batch already has
    partials, laid out as in slices.
    """
    if values is None:
        return scalars_of(read_partials(entry, batch))
    names = values[entry.component]
    rows = batch.num_rows
    if not names:
        return PartialColumn(scalars=(np.ones(rows, np.int64),))
    columns = [batch.column(name) for name in names]
    there = np.ones(rows, np.bool_)
    for column in columns:
        if column.null_count:
            there &= column.is_valid().to_numpy(zero_copy_only=False)
    if entry.monoid == REGISTERS:
        return of_hashes(entry.component, numbers(columns[0], INTEGER), there)
    if is_typed(entry.number):
        column = beside(*columns) if len(columns) == 2 else columns[0]
        return read_typed(column, entry.monoid)
    if isinstance(entry.component, UserComponent):
        return _own(entry.component, columns, there)
    counts = there.astype(np.int64 if entry.number == INTEGER else np.float64)
    part = entry.component.part
    read = [numbers(c, entry.number) for c in columns] if part.is_of_values else []
    scalars = part.of_record(counts, *read)
    if entry.monoid == ADD_WIDE:
        scalars = (*scalars, np.zeros(rows, np.int64))
    present = None if entry.component.is_never_null or there.all() else there
    return PartialColumn(scalars=scalars, present=present)


def _own(component: UserComponent, columns: list[pa.Array], there: Bools) -> PartialColumn:
    """Lift to a user's partials; a record with a null in some part counts as the identity."""
    pairs = zip(columns, component.identity, strict=True)
    return PartialColumn(
        scalars=tuple(np.where(there, numbers(c, FLOAT), identity) for c, identity in pairs)
    )


def read_partials(entry: Kept, batch: pa.RecordBatch) -> Column:
    """Returns a component's partials from its columns of the slices."""
    if entry.is_of_entries:
        return read_entries(entry, batch)
    first = batch.column(entry.columns[0])
    if entry.monoid == REGISTERS:
        return read_registers(entry.component, first)
    if is_typed(entry.number):
        return read_typed(first, entry.monoid)
    present = None
    if first.null_count and not entry.component.is_never_null:
        present = first.is_valid().to_numpy(zero_copy_only=False)
    scalars = tuple(numbers(batch.column(name), entry.number) for name in entry.columns)
    return PartialColumn(scalars=scalars, present=present)


def write_partials(entry: Kept, column: Column) -> dict[str, pa.Array]:
    """Returns a component's partials as its columns of the slices."""
    if not isinstance(column, PartialColumn):
        return write_entries(entry, as_entries(column))
    if entry.monoid == REGISTERS:
        return {entry.columns[0]: written(column)}
    if is_typed(entry.number):
        return {entry.columns[0]: write_typed(column)}
    kind = pa.int64() if entry.number == INTEGER else pa.float64()
    # Null says that there was no value, in the first column.
    absent = None if column.present is None else ~column.present
    return {
        name: pa.array(scalar, kind, mask=None if index else absent)
        for index, (name, scalar) in enumerate(zip(entry.columns, column.scalars, strict=True))
    }


def numbers(column: pa.Array, number: str) -> Any:
    """Returns a writable copy of a column: read-only memory is another type to a kernel."""
    kind = pa.int64() if number == INTEGER else pa.float64()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    values = column.cast(kind).to_numpy(zero_copy_only=False)
    return np.array(values, np.int64 if number == INTEGER else np.float64)
