"""Lowers partials to answers, the last step of an aggregate, into its slots."""

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.formula import Formula
from muntin.model.aggregates.monoids import ADD_WIDE, REGISTERS
from muntin.model.aggregates.parts import is_typed
from muntin.model.aggregates.table import ITEMS, STATE, Function
from muntin.model.aggregates.user_aggregate import UserAggregate
from muntin.runtime.columns.layout import Layout
from muntin.runtime.columns.partials import Bools, PartialColumn, Partials, scalars_of
from muntin.runtime.columns.typed_partials import chosen_values, write_typed
from muntin.runtime.entries.entry_ranges import EntryRanges
from muntin.runtime.entries.summaries import summed_up
from muntin.runtime.entries.top_items import with_nulls
from muntin.runtime.registers.columns import distinct_counts
from muntin.runtime.sketches.items_sketch import with_null_counts

_INT64 = np.iinfo(np.int64)


def lower(aggregate: Aggregate, partials: Partials, layout: Layout) -> tuple[pa.Array, ...]:
    """Returns an aggregate's answers, an Arrow column for each of its slots."""
    first = partials.columns[aggregate.components[0]]
    if isinstance(first, EntryRanges):
        answers = summed_up(aggregate, first, layout.of(aggregate.components[0]).number)
        if aggregate.definition.result not in (ITEMS, STATE):
            return answers
        nulls = scalars_of(partials.columns[aggregate.components[1]]).scalars[0]
        if aggregate.definition.result == ITEMS:
            return (with_nulls(answers[0], nulls, aggregate.parameters),)
        return (with_null_counts(answers[0], nulls),)
    columns = [scalars_of(partials.columns[component]) for component in aggregate.components]
    if isinstance(aggregate, UserAggregate):
        return (_own(aggregate, columns[0]),)
    if layout.of(aggregate.components[0]).monoid == REGISTERS:
        return (distinct_counts(columns[0]),)
    row = aggregate.definition
    if row.answer is not None:
        scalars = [scalar for column in columns for scalar in column.scalars]
        return (_answer(row, row.answer, scalars),)
    if row.is_chosen:
        return (chosen_values(columns[0]),)
    if is_typed(layout.of(aggregate.components[0]).number):
        return (write_typed(columns[0]),)
    missing = None if columns[0].present is None else ~columns[0].present
    if layout.of(aggregate.components[0]).monoid == ADD_WIDE:
        return _checked(columns[0], missing)
    return (pa.array(columns[0].scalars[0], mask=missing),)


def _answer(row: Function, formula: Formula, scalars: list[np.ndarray]) -> pa.Array:
    """Compute a row's formula over the scalars of all its parts, where it has an answer."""
    # Where there is no answer the formula may divide by zero.
    with np.errstate(all="ignore"):
        answers = formula(*scalars)
        if row.constant is not None:
            condition, constant = row.constant
            answers = np.where(condition(*scalars), constant, answers)
    missing = None if row.has_answer is None else ~row.has_answer(*scalars)
    return pa.array(answers, mask=missing)


def _own(aggregate: UserAggregate, column: PartialColumn) -> pa.Array:
    """Apply the user's `lower` to each partial; its None becomes null."""
    scalars = [scalar.tolist() for scalar in column.scalars]
    partials = scalars[0] if aggregate.monoid.width == 1 else zip(*scalars, strict=True)
    answers = (aggregate.lower(partial) for partial in partials)
    return pa.array([None if answer is None else float(answer) for answer in answers], pa.float64())


def _checked(column: PartialColumn, missing: Bools | None) -> tuple[pa.Array, ...]:
    """Returns two summands that overflow if the sum did: Spark adds them, and raises its error."""
    low, turns = column.scalars
    limit = np.where(turns > 0, _INT64.max, _INT64.min)
    return (
        pa.array(np.where(turns == 0, low, limit), mask=missing),
        pa.array(np.sign(turns).astype(np.int64), mask=missing),
    )
