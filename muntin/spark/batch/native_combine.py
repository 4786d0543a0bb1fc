"""Windows from slices by Spark itself: for types that the compiled runtime does not take."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import DataType

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.aggregates.moments import merged_moments
from muntin.model.plan import Node
from muntin.runtime.periodic.tree import BEGIN
from muntin.spark.batch.slices import START, Slices, present_column
from muntin.spark.binding.bind_periodic import NUMERIC


def combine_natively(node: Node, slices: Slices, types: dict[Aggregate, DataType]) -> DataFrame:
    """One node's answers: the keys, `begin`, and a column `a0...` for each of its aggregates.

    Each slice is copied into the windows that hold it: partials, where plain Spark copies events.
    """
    window = node.window
    last = f"{START} - pmod({START} - {window.offset}L, {window.slide}L)"
    if window.is_tumbling:
        begins = last
    else:
        # The first begin after `start - size`, which is never after the last one.
        since = f"{START} - {window.size}L"
        first = f"{since} + 1L + pmod({window.offset}L - ({since}) - 1L, {window.slide}L)"
        begins = f"explode(sequence({first}, {last}, {window.slide}L))"
    keys = slices.layout.key_columns
    answers = [
        f"{_answer(aggregate, slices, types[aggregate])} AS a{index}"
        for index, aggregate in enumerate(node.aggregates)
    ]
    return (
        slices.frame.selectExpr("*", f"{begins} AS {BEGIN}")
        .groupBy(*keys, BEGIN)
        .agg(*(expr(answer) for answer in answers))
    )


def _answer(aggregate: Aggregate, slices: Slices, kind: DataType) -> str:
    """Combine an aggregate's partials and lower them, as Spark SQL."""
    names = [slices.names[component] for component in aggregate.components]
    result = kind.simpleString()
    match aggregate.definition.kinds:
        case ("count",) | ("count_if",):
            return f"sum({names[0]})"
        case ("min",) | ("max",) as kinds:
            chosen = f"{kinds[0]}({names[0]})"
            # Slices that the runtime reads too have lost their narrower type.
            return f"CAST({chosen} AS {result})" if isinstance(kind, NUMERIC) else chosen
        case ("float_sum", "count"):
            return f"sum({names[0]}) / nullif(sum({names[1]}), 0)"
        case ("moments",):
            struct = (
                f"named_struct('n', {names[0]}_0, 'mean', {names[0]}_1, 'squares', {names[0]}_2)"
            )
            return merged_moments(struct, finish=aggregate.function)
        case _:
            if f"{names[0]}_1" in slices.frame.columns:
                # Turns are zero, or so many that this overflows, with Spark's own error.
                return f"sum({names[0]}_0) + sum({names[0]}_1) * 9223372036854775807L"
            total = f"CAST(sum({names[0]}) AS {result})"
            present = present_column(names[0])
            if present not in slices.frame.columns:
                return total
            # A null sum of values that were there has overflowed, and so has what holds it.
            lost = f"bool_or({names[0]} IS NULL AND {present} > 0)"
            return f"CASE WHEN {lost} THEN NULL ELSE {total} END"
