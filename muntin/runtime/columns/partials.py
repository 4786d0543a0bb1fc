"""Columns of partials in (key, start) order: what flows from slices to nodes and between nodes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from muntin.aggregates.aggregate import Component

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
Bools = NDArray[np.bool_]
# The scalars of a component, a column each.
Scalars = tuple[NDArray[Any], ...]


class Column(Protocol):
    """A component's partials, row by row. Each storage has a class of its own for them."""

    def rows(self, first: int) -> "Column":
        """The partials from a row on."""

    def where(self, chosen: Bools | Int64s) -> "Column":
        """The partials of the chosen rows, by their numbers or by a mask."""

    def copy(self) -> "Column":
        """The same partials in memory of their own."""

    def concatenate(self, newer: Any) -> "Column":
        """These partials, then those of another column of the same storage."""


@dataclass(frozen=True, kw_only=True)
class PartialColumn:
    """Partials that are numbers; `present` is false where a row has none, None if all have one."""

    scalars: Scalars
    present: Bools | None = None

    def __len__(self) -> int:
        return len(self.scalars[0])

    @property
    def missing(self) -> Bools | None:
        return None if self.present is None else ~self.present

    def rows(self, first: int) -> Self:
        return self._each(lambda array: array[first:])

    def where(self, chosen: Bools | Int64s) -> Self:
        return self._each(lambda array: array[chosen])

    def copy(self) -> Self:
        return self._each(np.copy)

    def _each(self, change: Callable[[Any], Any]) -> Self:
        scalars = tuple(map(change, self.scalars))
        present = None if self.present is None else change(self.present)
        return replace(self, scalars=scalars, present=present)

    def concatenate(self, newer: Self) -> Self:
        newer, codes = newer.in_codes_of(self)
        older = self if codes is None else self.with_codes(codes)
        present = None
        if older.present is not None or newer.present is not None:
            present = np.concatenate(
                [
                    np.ones(len(column), np.bool_) if column.present is None else column.present
                    for column in (older, newer)
                ]
            )
        return replace(
            newer,
            scalars=tuple(
                np.concatenate([a, b]) for a, b in zip(older.scalars, newer.scalars, strict=True)
            ),
            present=present,
        )

    def in_codes_of(self, older: Self) -> tuple[Self, Int64s | None]:
        """Returns these partials in codes that are common with older ones, and the new code of each
        older code, or None if older codes stay as they are. Numbers have no codes."""
        return self, None

    def with_codes(self, codes: Int64s) -> Self:
        """Returns the partials with the new code of each code."""
        (old,) = self.scalars
        if self.present is not None:
            # A missing partial has any code.
            old = np.where(self.present, old, 0)
        return replace(self, scalars=(codes[old] if len(codes) else np.zeros_like(old),))


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

    def concatenate(self, newer: "Partials") -> "Partials":
        """These rows, then newer ones."""
        if not len(self):
            return newer
        return Partials(
            keys=np.concatenate([self.keys, newer.keys]),
            starts=np.concatenate([self.starts, newer.starts]),
            columns={
                name: column.concatenate(newer.columns[name])
                for name, column in self.columns.items()
            },
        )


def scalars_of(column: Column) -> PartialColumn:
    """Returns a column whose partials are scalars, as the type checker needs it."""
    assert isinstance(column, PartialColumn)
    return column
