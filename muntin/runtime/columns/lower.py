"""Partials to answers: the last step of an aggregate, into its slots."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from muntin.model.aggregates.aggregate import ADD_WIDE, MOMENTS, Aggregate
from muntin.model.aggregates.user_aggregate import UserAggregate
from muntin.runtime.columns.layout import Layout
from muntin.runtime.columns.partials import Bools, PartialColumn, Partials

_INT64 = np.iinfo(np.int64)


def lower(aggregate: Aggregate, partials: Partials, layout: Layout) -> tuple[pa.Array, ...]:
    """An aggregate's answers, an Arrow column for each of its slots."""
    columns = [partials.columns[component] for component in aggregate.components]
    if isinstance(aggregate, UserAggregate):
        return (_own(aggregate, columns[0]),)
    monoid = layout.of(aggregate.components[0]).monoid
    if monoid == MOMENTS:
        return (_moments(aggregate.function, columns[0]),)
    if aggregate.function == "avg":
        total, count = columns[0].scalars[0], columns[1].scalars[0]
        missing = count == 0
        return (pa.array(total / np.where(missing, 1, count), mask=missing),)
    missing_or_none = None if columns[0].present is None else ~columns[0].present
    if monoid == ADD_WIDE:
        return _checked(columns[0], missing_or_none)
    return (pa.array(columns[0].scalars[0], mask=missing_or_none),)


def _own(aggregate: UserAggregate, column: PartialColumn) -> pa.Array:
    """What the user's `lower` makes of each partial; none is null."""
    scalars = [scalar.tolist() for scalar in column.scalars]
    partials = scalars[0] if aggregate.monoid.width == 1 else zip(*scalars, strict=True)
    answers = (aggregate.lower(partial) for partial in partials)
    return pa.array([None if one is None else float(one) for one in answers], pa.float64())


def _checked(column: PartialColumn, missing: Bools | None) -> tuple[pa.Array, ...]:
    """A sum as two summands, which overflow when it did: Spark adds them, and raises its error."""
    low, turns = column.scalars
    limit = np.where(turns > 0, _INT64.max, _INT64.min)
    return (
        pa.array(np.where(turns == 0, low, limit), mask=missing),
        pa.array(np.sign(turns).astype(np.int64), mask=missing),
    )


_FROM_MOMENTS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "var_samp": (1, lambda variance: variance),
    "var_pop": (0, lambda variance: variance),
    "stddev_samp": (1, np.sqrt),
    "stddev_pop": (0, np.sqrt),
}


def _moments(function: str, column: PartialColumn) -> pa.Array:
    """Variance or deviation; a sample of one has none, and Spark answers null."""
    count, _, squares = column.scalars
    lost, finish = _FROM_MOMENTS[function]
    missing = count <= lost
    freedom = np.where(missing, 1.0, count - lost)
    return pa.array(finish(squares / freedom), mask=missing)
