"""Prepares a column of partials once, then folds it over the rows of any number of windows."""

from dataclasses import replace
from typing import Any

import numpy as np

from muntin.model.aggregates.monoids import REGISTERS, Monoid
from muntin.model.trees import RECALC
from muntin.runtime.columns.partials import Column, Int64s, PartialColumn, Scalars
from muntin.runtime.entries.entry_ranges import EntryFolding, as_entries
from muntin.runtime.registers.columns import united
from muntin.techniques.table import Fold


def folding(column: Column, monoid: Monoid, keys: Int64s) -> "Folding | EntryFolding":
    """Returns what folds a component's partials; `keys` has the number of each row's key."""
    if isinstance(column, PartialColumn):
        return Folding(column, monoid)
    return EntryFolding(as_entries(column), keys)


class Folding:
    """Folds one component's partials for all windows that read them."""

    def __init__(self, column: PartialColumn, monoid: Monoid) -> None:
        self._column, self._monoid = column, monoid
        scalars: Scalars = column.scalars
        self._seen: Int64s | None = None
        if column.present is not None:
            if len(scalars) == 1:
                gap = neutral(monoid, scalars[0].dtype)
                scalars = (np.where(column.present, scalars[0], gap),)
            self._seen = np.concatenate([np.zeros(1, np.int64), np.cumsum(column.present)])
        self._wide = monoid.width > 1
        self._fold = Fold(monoid, scalars if self._wide else scalars[0])

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> PartialColumn:
        """Returns the aggregates of rows `[lows[i], highs[i])`, not empty; no bound decreases."""
        if self._monoid == REGISTERS:
            return united(self._column, lows, highs, anew=technique == RECALC)
        answers = self._fold(lows, highs, technique)
        return replace(
            self._column,
            scalars=answers if self._wide else (answers,),
            present=None if self._seen is None else self._seen[highs] > self._seen[lows],
        )

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> PartialColumn:
        """Returns the aggregates of picked rows, `picked[firsts[i] : firsts[i + 1]]` each."""
        few = Folding(self._column.where(picked), self._monoid)
        return few.over(firsts[:-1], firsts[1:], technique)


def neutral(monoid: Monoid, dtype: np.dtype[Any]) -> Any:
    """Returns the value that a missing partial counts as."""
    return dtype.type(monoid.identity[dtype.kind == "f"])
