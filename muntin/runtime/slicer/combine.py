"""Combines the rows of each group, component by component."""

from dataclasses import replace
from typing import Any

import numpy as np

from muntin.model.aggregates.monoids import REGISTERS, Monoid
from muntin.runtime.columns.fold_ranges import neutral
from muntin.runtime.columns.partials import Bools, PartialColumn
from muntin.runtime.registers.columns import united_by_group
from muntin.runtime.slicer.groups import Groups
from muntin.techniques.compiled.compile import bind, compiled
from muntin.techniques.compiled.scatter import scatter


def without_gaps(column: PartialColumn, monoid: Monoid) -> PartialColumn:
    """The same partials with the identity where there is none, so that all can be combined."""
    # A missing partial of several scalars is zeros, which is their identity.
    if column.present is None or len(column.scalars) > 1:
        return column
    (values,) = column.scalars
    filled = np.where(column.present, values, neutral(monoid, values.dtype))
    return replace(column, scalars=(filled,))


def combine(column: PartialColumn | None, monoid: Monoid, groups: Groups) -> PartialColumn:
    """Returns the partial of each group, from rows without gaps; None: every row counts as 1."""
    if column is None:
        return PartialColumn(scalars=(count_rows(groups),))
    if monoid == REGISTERS:
        return united_by_group(column, groups.rows, groups.numbers, groups.count)
    totals = tuple(
        np.full(groups.count, neutral(monoid, values.dtype)) for values in column.scalars
    )
    kernel = bind(scatter, monoid)
    if monoid.width == 1:
        kernel(column.scalars[0], groups.rows, groups.numbers, totals[0])
    else:
        kernel(column.scalars, groups.rows, groups.numbers, totals)
    if column.present is None:
        return replace(column, scalars=totals)
    seen = np.zeros(groups.count, np.bool_)
    _mark(column.present, groups.rows, groups.numbers, seen)
    return replace(column, scalars=totals, present=None if seen.all() else seen)


def count_rows(groups: Groups) -> Any:
    """Returns how many rows each group has."""
    counts = np.zeros(groups.count, np.int64)
    _count(groups.numbers, counts)
    return counts


def _mark_groups(present: Bools, rows: Any, groups: Any, seen: Any) -> None:
    for index in range(len(groups)):
        row = index if rows is None else rows[index]
        if present[row]:
            seen[groups[index]] = True


def _count_groups(groups: Any, counts: Any) -> None:
    for index in range(len(groups)):
        counts[groups[index]] += 1


_mark, _count = compiled(_mark_groups), compiled(_count_groups)
