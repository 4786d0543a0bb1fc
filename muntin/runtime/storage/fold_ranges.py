"""Prepares numbers or codes once, then folds them over the rows of any number of windows."""

from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from muntin.model.aggregates.monoids import Monoid
from muntin.runtime.columns.partials import Int64s, PartialColumn, Scalars
from muntin.techniques.table import Fold

_Column = TypeVar("_Column", bound=PartialColumn)


class ScalarFolding(Generic[_Column]):
    """Folds one component's partials for all windows that read them."""

    def __init__(self, column: _Column, monoid: Monoid) -> None:
        self._column, self._monoid = column, monoid
        scalars: Scalars = column.scalars
        self._seen: Int64s | None = None
        if column.present is not None:
            scalars = without_gaps(column, monoid).scalars
            self._seen = np.concatenate([np.zeros(1, np.int64), np.cumsum(column.present)])
        self._wide = monoid.width > 1
        self._fold = Fold(monoid, scalars if self._wide else scalars[0])

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> _Column:
        """Returns the aggregates of rows `[lows[i], highs[i])`, not empty; no bound decreases."""
        answers = self._fold(lows, highs, technique)
        return replace(
            self._column,
            scalars=answers if self._wide else (answers,),
            present=None if self._seen is None else self._seen[highs] > self._seen[lows],
        )

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> _Column:
        """Returns the aggregates of picked rows, `picked[firsts[i] : firsts[i + 1]]` each."""
        few = ScalarFolding(self._column.where(picked), self._monoid)
        return few.over(firsts[:-1], firsts[1:], technique)


def without_gaps(column: _Column, monoid: Monoid) -> _Column:
    """Returns partials with the identity where there is none, so that all can be combined."""
    # A missing partial of several scalars is zeros, which is their identity.
    if column.present is None or len(column.scalars) > 1:
        return column
    (values,) = column.scalars
    return replace(
        column, scalars=(np.where(column.present, values, neutral(monoid, values.dtype)),)
    )


def neutral(monoid: Monoid, dtype: np.dtype[Any]) -> Any:
    """Returns the value that a missing partial counts as."""
    return dtype.type(monoid.identity[dtype.kind == "f"])
