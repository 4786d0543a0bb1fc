"""Records to partials: what each component keeps of one record."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import ADD_WIDE, MOMENTS, Component
from muntin.model.aggregates.user_aggregate import UserComponent
from muntin.runtime.columns.layout import FLOAT, INTEGER, Kept
from muntin.runtime.columns.partials import PartialColumn


def lifted(
    kept: Kept, batch: pa.RecordBatch, values: Mapping[Component, tuple[str, ...]] | None
) -> PartialColumn:
    """A component's partials in a batch of records.

    `values` has the columns with a component's argument, null where its filter leaves a row out;
    none counts every row. Without `values` the batch has partials already, as slices have them.
    """
    if values is None:
        return read_partials(kept, batch)
    names = values[kept.component]
    rows = batch.num_rows
    if not names:
        return PartialColumn(scalars=(np.ones(rows, np.int64),))
    column = batch.column(names[0])
    if isinstance(kept.component, UserComponent):
        return _own(kept.component, [batch.column(name) for name in names])
    there = column.is_valid().to_numpy(zero_copy_only=False)
    if kept.component.kind == "count":
        return PartialColumn(scalars=(there.astype(np.int64),))
    scalar = numbers(column, kept.number)
    if kept.component.kind == "count_if":
        return PartialColumn(scalars=(scalar,))
    if kept.monoid == MOMENTS:
        return PartialColumn(scalars=(there.astype(np.float64), scalar, np.zeros(rows)))
    present = None if there.all() else there
    if kept.monoid == ADD_WIDE:
        return PartialColumn(scalars=(scalar, np.zeros(rows, np.int64)), present=present)
    return PartialColumn(scalars=(scalar,), present=present)


def _own(component: UserComponent, columns: list[pa.Array]) -> PartialColumn:
    """Partials of the user's; a record of which some part is null counts as the identity."""
    there = np.logical_and.reduce([c.is_valid().to_numpy(zero_copy_only=False) for c in columns])
    pairs = zip(columns, component.identity, strict=True)
    return PartialColumn(
        scalars=tuple(np.where(there, numbers(c, FLOAT), identity) for c, identity in pairs)
    )


def read_partials(kept: Kept, batch: pa.RecordBatch) -> PartialColumn:
    """A component's columns of the slices as partials."""
    first = batch.column(kept.columns[0])
    present = None
    if first.null_count and kept.monoid != MOMENTS:
        present = first.is_valid().to_numpy(zero_copy_only=False)
    scalars = tuple(numbers(batch.column(name), kept.number) for name in kept.columns)
    return PartialColumn(scalars=scalars, present=present)


def numbers(column: pa.Array, number: str) -> Any:
    """A column in memory of its own: Arrow's cannot be written to, which to a kernel is a type."""
    kind = pa.int64() if number == INTEGER else pa.float64()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int64())
    values = column.fill_null(0).cast(kind).to_numpy(zero_copy_only=False)
    return np.array(values, np.int64 if number == INTEGER else np.float64)
