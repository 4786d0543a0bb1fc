"""Puts the rows of partials that arrive later behind those that are there."""

from dataclasses import replace

import numpy as np

from muntin.runtime.columns.partials import Column, PartialColumn, Partials, scalars_of
from muntin.runtime.columns.typed_partials import joined_typed
from muntin.runtime.entries.entry_lists import joined_entries
from muntin.runtime.entries.entry_ranges import as_entries
from muntin.runtime.registers.columns import joined_registers


def concatenate(older: Partials, newer: Partials) -> Partials:
    """The rows of one after those of the other."""
    if not len(older):
        return newer
    return Partials(
        keys=np.concatenate([older.keys, newer.keys]),
        starts=np.concatenate([older.starts, newer.starts]),
        columns={
            name: joined(column, newer.columns[name]) for name, column in older.columns.items()
        },
    )


def joined(older: Column, newer: Column) -> Column:
    """The partials of one after those of the other."""
    if isinstance(older, PartialColumn):
        return _joined_scalars(older, scalars_of(newer))
    return joined_entries(as_entries(older), as_entries(newer))


def _joined_scalars(older: PartialColumn, newer: PartialColumn) -> PartialColumn:
    codings = [column.coding for column in (older, newer) if column.coding is not None]
    if len(codings) == 2 and codings[0].bits is not None:
        older, newer = joined_registers(older, newer)
    elif codings:
        older, newer = joined_typed(older, newer)
    present = None
    if older.present is not None or newer.present is not None:
        present = np.concatenate(
            [
                np.ones(len(column.scalars[0]), np.bool_)
                if column.present is None
                else column.present
                for column in (older, newer)
            ]
        )
    return replace(
        older,
        scalars=tuple(
            np.concatenate([a, b]) for a, b in zip(older.scalars, newer.scalars, strict=True)
        ),
        present=present,
    )
