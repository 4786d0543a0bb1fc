"""Records to partials: what each component keeps of one record."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.monoids import ADD_WIDE
from muntin.model.aggregates.table import FLOAT, INTEGER
from muntin.model.aggregates.user_aggregate import UserComponent
from muntin.runtime.columns.layout import Kept
from muntin.runtime.columns.partials import Bools, PartialColumn


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
    columns = [batch.column(name) for name in names]
    there = np.logical_and.reduce([c.is_valid().to_numpy(zero_copy_only=False) for c in columns])
    if isinstance(kept.component, UserComponent):
        return _own(kept.component, columns, there)
    counts = there.astype(np.int64 if kept.number == INTEGER else np.float64)
    part = kept.component.part
    read = [numbers(c, kept.number) for c in columns] if part.is_of_values else []
    scalars = part.of_record(counts, *read)
    if kept.monoid == ADD_WIDE:
        scalars = (*scalars, np.zeros(rows, np.int64))
    present = None if kept.component.is_never_null or there.all() else there
    return PartialColumn(scalars=scalars, present=present)


def _own(component: UserComponent, columns: list[pa.Array], there: Bools) -> PartialColumn:
    """Partials of the user's; a record of which some part is null counts as the identity."""
    pairs = zip(columns, component.identity, strict=True)
    return PartialColumn(
        scalars=tuple(np.where(there, numbers(c, FLOAT), identity) for c, identity in pairs)
    )


def read_partials(kept: Kept, batch: pa.RecordBatch) -> PartialColumn:
    """A component's columns of the slices as partials."""
    first = batch.column(kept.columns[0])
    present = None
    if first.null_count and not kept.component.is_never_null:
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
