"""Columns of partials in (key, start) order: what flows from slices to nodes and between nodes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.model.aggregates.aggregate import Component

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]
# The scalars of a component, a column each.
Scalars = tuple[NDArray[Any], ...]


class Column(Protocol):
    """A component's partials, row by row: scalars, or sets of values (see `entries`)."""

    def rows(self, first: int) -> "Column":
        """The partials from a row on."""

    def where(self, chosen: Bools | Int64s) -> "Column":
        """The partials of the chosen rows, by their numbers or by a mask."""

    def copy(self) -> "Column":
        """The same partials in memory of their own."""


@dataclass(frozen=True, kw_only=True)
class Coding:
    """What the integers of a column of partials stand for; see `typed_partials`."""

    kind: pa.DataType
    # The value of each code, if codes are ranks or places.
    values: pa.Array | None = None
    # The bits of a register's address, if values are rows of registers.
    bits: int | None = None


@dataclass(frozen=True, kw_only=True)
class PartialColumn:
    """One component's partials; `present` is false where a row has none, None if all have one."""

    scalars: Scalars
    present: Bools | None = None
    # For partials that are a column of another type than integers and floats.
    coding: Coding | None = None

    def rows(self, first: int) -> "PartialColumn":
        """The partials from a row on."""
        return replace(
            self,
            scalars=tuple(scalar[first:] for scalar in self.scalars),
            present=None if self.present is None else self.present[first:],
        )

    def where(self, chosen: Bools | Int64s) -> "PartialColumn":
        """The partials of the chosen rows, by their numbers or by a mask."""
        return replace(
            self,
            scalars=tuple(scalar[chosen] for scalar in self.scalars),
            present=None if self.present is None else self.present[chosen],
        )

    def copy(self) -> "PartialColumn":
        """The same partials in memory of their own."""
        return replace(
            self,
            scalars=tuple(scalar.copy() for scalar in self.scalars),
            present=None if self.present is None else self.present.copy(),
        )


@dataclass(frozen=True, kw_only=True)
class Partials:
    """Rows of partials; `keys` are numbers that grow with the order in which keys arrive."""

    keys: Int64s
    starts: Int64s
    columns: Mapping[Component, Column]

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, first: int) -> "Partials":
        """The rows from `first` on."""
        return Partials(
            keys=self.keys[first:],
            starts=self.starts[first:],
            columns={name: column.rows(first) for name, column in self.columns.items()},
        )

    def where(self, chosen: Bools) -> "Partials":
        """The chosen rows."""
        if chosen.all():
            return self
        return Partials(
            keys=self.keys[chosen],
            starts=self.starts[chosen],
            columns={name: column.where(chosen) for name, column in self.columns.items()},
        )

    def select(self, components: Iterable[Component]) -> "Partials":
        """The same rows with some of the columns."""
        columns = {component: self.columns[component] for component in components}
        return Partials(keys=self.keys, starts=self.starts, columns=columns)

    def copy(self) -> "Partials":
        """The same rows in memory of their own."""
        return Partials(
            keys=self.keys.copy(),
            starts=self.starts.copy(),
            columns={name: column.copy() for name, column in self.columns.items()},
        )


def scalars_of(column: Column) -> PartialColumn:
    """Returns partials that are scalars as what they are."""
    assert isinstance(column, PartialColumn)
    return column
