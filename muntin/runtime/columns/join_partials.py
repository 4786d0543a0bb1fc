"""Puts the rows of partials that arrive later behind those that are there."""

from dataclasses import replace

import numpy as np

from muntin.runtime.columns.partials import PartialColumn, Partials
from muntin.runtime.columns.typed_partials import joined_typed


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


def joined(older: PartialColumn, newer: PartialColumn) -> PartialColumn:
    """The partials of one after those of the other."""
    if older.coding is not None or newer.coding is not None:
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
