"""Partials of a user's own aggregate: columns of floats that the user's functions combine.

Functions outside of installed modules are sent to workers by value, so every batch brings a new
function that is equal to the previous one. A worker compiles equal functions once.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.user_aggregate import UserAggregate, UserComponent
from muntin.runtime.columns.partials import Bools, PartialColumn, Scalars
from muntin.runtime.storage.numbers import NumberStorage
from muntin.techniques.kernels.compile import can_compile

_KNOWN: dict[Any, Monoid] = {}


class UserStorage(NumberStorage):
    """Columns of floats; a record without a value counts as the identity."""

    @property
    def cut_monoid(self) -> tuple[Monoid, Any]:
        monoid = intern_monoid(self.monoid)
        return monoid, np.float64 if can_compile(monoid) else object

    def _lift_values(self, columns: list[pa.Array], present: Bools) -> Scalars:
        pairs = zip(columns, self._identity, strict=True)
        return tuple(np.where(present, self._numbers(c), identity) for c, identity in pairs)

    def missing_partials(self, rows: int) -> PartialColumn:
        return PartialColumn(scalars=tuple(np.full(rows, number) for number in self._identity))

    def lower(self, aggregate: Aggregate, columns: Sequence[PartialColumn]) -> tuple[pa.Array, ...]:
        assert isinstance(aggregate, UserAggregate)
        scalars = [scalar.tolist() for scalar in columns[0].scalars]
        partials = scalars[0] if self.monoid.width == 1 else zip(*scalars, strict=True)
        answers = [aggregate.lower(partial) for partial in partials]
        numbers = [None if answer is None else float(answer) for answer in answers]
        return (pa.array(numbers, pa.float64()),)

    @property
    def _identity(self) -> tuple[float, ...]:
        assert isinstance(self.component, UserComponent)
        return self.component.identity


def intern_monoid(monoid: Monoid) -> Monoid:
    """Returns the first monoid seen with the same code; `monoid` if codes cannot be compared."""
    function = monoid.combine
    code = getattr(function, "__code__", None)
    if code is None or function.__closure__ or function.__kwdefaults__:
        return monoid
    used = {name: function.__globals__.get(name) for name in code.co_names}
    known = {
        name: value.__name__ if isinstance(value, ModuleType) else value
        for name, value in used.items()
    }
    if not all(isinstance(value, int | float | str | None) for value in known.values()):
        return monoid
    try:
        key = (monoid.name, monoid.width, code, function.__defaults__, tuple(known.items()))
        return _KNOWN.setdefault(key, monoid)
    except TypeError:
        return monoid
