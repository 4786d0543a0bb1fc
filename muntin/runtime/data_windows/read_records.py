"""Reads Arrow batches of records into the columns that windows and aggregates look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Component
from muntin.model.data_windows import Custom
from muntin.model.trees import DataTree
from muntin.runtime.columns.partials import Column, Int64s
from muntin.runtime.data_windows.periodic_edges import grow
from muntin.runtime.data_windows.window_stream import PreviousRecord, Records
from muntin.runtime.storage.component_storage import number_type
from muntin.runtime.storage.layout import Layout


@dataclass(frozen=True, kw_only=True)
class RecordLayout:
    """The columns of records: keys, time, and what windows and components look at, by Spark SQL.

    `last` is the column with the latest time of a record that stands for several events.
    """

    layout: Layout
    last: str | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    # The columns that each component is lifted from; None if the records have partials already.
    values: Mapping[Component, tuple[str, ...]] | None = None

    @property
    def names(self) -> set[str]:
        """The columns that windows and components look at."""
        lifted = (name for names in (self.values or {}).values() for name in names)
        looked_at = (self.conditions, self.measures, self.columns)
        return {*(name for names in looked_at for name in names.values()), *lifted}

    def of_tree(self, tree: DataTree) -> "RecordLayout":
        """Returns the part that a tree with some of the nodes looks at."""
        wanted = {part for aggregate in tree.aggregates for part in aggregate.components}
        seen = {
            sql for kind in tree.data_windows if isinstance(kind, Custom) for _, sql in kind.columns
        }
        entries = tuple(entry for entry in self.layout.storages if entry.component in wanted)
        return replace(
            self,
            layout=replace(self.layout, storages=entries),
            conditions={sql: self.conditions[sql] for sql in tree.conditions},
            measures={sql: self.measures[sql] for sql in tree.measures},
            columns={sql: name for sql, name in self.columns.items() if sql in seen},
            values=self.values and {e.component: self.values[e.component] for e in entries},
        )


def read_records(
    batch: pa.RecordBatch, layout: RecordLayout, firsts: Int64s, before: PreviousRecord
) -> Records:
    """Returns the records of a batch, and updates the highest values of measures in `before`."""
    times = _times(batch.column(layout.layout.start))
    return Records(
        firsts=firsts,
        times=times,
        lasts=times if layout.last is None else _times(batch.column(layout.last)),
        conditions={sql: _bools(batch.column(name)) for sql, name in layout.conditions.items()},
        measures={
            sql: _measure(batch.column(name), firsts, before.highest[sql])
            for sql, name in layout.measures.items()
        },
        columns={sql: _objects(batch.column(name)) for sql, name in layout.columns.items()},
        before=before,
    )


def read_values(batch: pa.RecordBatch, layout: RecordLayout) -> dict[Component, Column]:
    """Returns the partials of each component, one for every record."""
    return {
        storage.component: storage.read(batch)
        if layout.values is None
        else storage.lift_records(batch, layout.values[storage.component])
        for storage in layout.layout.storages
    }


def no_records(layout: RecordLayout, keys: pa.Schema, highest: Mapping[str, Any]) -> pa.RecordBatch:
    """Returns an empty batch of the types of records, given those of the keys and measures."""
    kinds = {field.name: field.type for field in keys}
    kinds |= dict.fromkeys(layout.columns.values(), pa.null())
    kinds |= {name: pa.int64() for name in (layout.layout.start, layout.last) if name}
    kinds |= dict.fromkeys(layout.conditions.values(), pa.bool_())
    for sql, name in layout.measures.items():
        kinds[name] = pa.from_numpy_dtype(highest[sql].dtype)
    for storage in layout.layout.storages:
        names = storage.columns if layout.values is None else layout.values[storage.component]
        kinds |= dict.fromkeys(names, number_type(storage.value_type))
    return pa.RecordBatch.from_pydict({name: pa.array([], kinds[name]) for name in kinds})


def lowest(kind: pa.DataType, rows: int) -> Any:
    """Returns, `rows` times, the value that stands for no value of a measure yet."""
    if pa.types.is_integer(kind):
        return np.full(rows, np.iinfo(np.int64).min)
    return np.full(rows, -np.inf)


def _measure(column: pa.Array, firsts: Int64s, highest: Any) -> Any:
    """Returns a measure: each value is the highest that its key has had so far."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        values: Any = _times(column)
    else:
        values = np.array(column.fill_null(0).to_numpy(zero_copy_only=False), np.float64)
        present = present & ~np.isnan(values)
    grow(values, present, firsts, highest)
    return values


def _times(column: pa.Array) -> Int64s:
    """Returns a writable copy of a column of integers."""
    return np.array(column.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _bools(column: pa.Array) -> Any:
    """Returns whether a condition is met; null is not."""
    return column.fill_null(False).to_numpy(zero_copy_only=False)


def _objects(column: pa.Array) -> Any:
    """Returns values as a user's class sees them: numbers if none is null, else objects."""
    if column.null_count == 0 and pa.types.is_primitive(column.type):
        return column.to_numpy(zero_copy_only=False)
    objects = np.empty(len(column), object)
    objects[:] = column.to_pylist()
    return objects
