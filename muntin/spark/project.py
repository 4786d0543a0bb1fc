"""Answers to the columns that queries asked for: names, types, order, HAVING."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import StructType

from muntin.model.aggregate import ADD_WIDE, Aggregate
from muntin.model.discretized import DiscretizedNode
from muntin.model.kinds import Kind, Session
from muntin.model.plan import Node
from muntin.model.query import Query, quoted, squeeze, substitute
from muntin.runtime.discretized import END
from muntin.runtime.layout import Layout, slots_of
from muntin.runtime.tree import BEGIN
from muntin.spark.bind import BoundTree
from muntin.spark.bind_discretized import BoundDiscretized
from muntin.spark.events import key_column
from muntin.spark.instants import span_struct, window_struct

# By this mark Spark knows a window's column, and lets `window` and `window_time` take it.
WINDOW_METADATA = {"spark.timeWindow": True}
SESSION_METADATA = {"spark.sessionWindow": True}


@dataclass(frozen=True, kw_only=True)
class Output:
    """One column of an answer as SQL over a tree's answers."""

    name: str
    sql: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def column(self) -> SparkColumn:
        """The column for a `select`; a bare column keeps its own metadata."""
        if self.metadata:
            return expr(self.sql).alias(self.name, metadata=self.metadata)
        return expr(self.sql).alias(self.name)


@dataclass(frozen=True, kw_only=True)
class Projection:
    """What a query makes of its answers: the condition on rows, then the columns."""

    having: str | None
    outputs: tuple[Output, ...]

    def apply(self, frame: DataFrame) -> DataFrame:
        """The query's answer from the rows of its node."""
        if self.having is not None:
            frame = frame.where(self.having)
        return frame.select(*(output.column() for output in self.outputs))


def projection(
    query: Query,
    answers: dict[Aggregate, str],
    bound: BoundTree | BoundDiscretized,
    *,
    size: str | None,
    plain: StructType | None = None,
    keys: Sequence[str] | None = None,
) -> Projection:
    """Put SQL in the place of every name that a query's columns and HAVING speak of.

    `answers` has the SQL of each aggregate, `size` that of the window's size in microseconds; there
    is none where answers have an end of their own.
    `plain` is the schema that Spark gives the query, where columns are left for Spark to name.
    `keys` has the SQL of each of the family's keys, where they are not columns of their own.
    """
    position = {key: index for index, key in enumerate(bound.tree.family.keys)}
    keys = keys or [key_column(index) for index in position.values()]
    names = {name: keys[position[squeeze(key)]] for name, key in query.key_expressions.items()}
    if size is None:
        names["window"] = span_struct(BEGIN, END, bound.time_type)
    else:
        names["window"] = window_struct(
            BEGIN, size, bound.time_type, nullable=not query.window.is_tumbling
        )
    names.update({name: answers[aggregate] for name, aggregate in query.aggregates.items()})
    outputs = []
    for index, column in enumerate(query.columns):
        is_window = column.expression in ("window", quoted("window"))
        metadata = _window_metadata(query) if is_window else {}
        name = column.name
        if name is None:
            assert plain is not None
            name, metadata = plain.fields[index].name, dict(plain.fields[index].metadata)
        outputs.append(
            Output(name=name, sql=substitute(column.expression, names), metadata=metadata)
        )
    having = None if query.having is None else substitute(query.having, names)
    return Projection(having=having, outputs=tuple(outputs))


def _window_metadata(query: Query) -> dict[str, Any]:
    if isinstance(query.window, Session):
        return SESSION_METADATA
    return {} if isinstance(query.window, Kind) else WINDOW_METADATA


def from_slots(
    node: Node | DiscretizedNode, layout: Layout, bound: BoundTree | BoundDiscretized
) -> dict[Aggregate, str]:
    """Each aggregate of a node as SQL over the runtime's slots, in Spark's type."""
    found = {}
    for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
        if layout.of(aggregate.components[0]).monoid == ADD_WIDE:
            # Two summands: adding them overflows, with Spark's own error, where the sum did.
            value = f"({' + '.join(places)})"
        else:
            value = f"CAST({places[0]} AS {bound.types[aggregate].simpleString()})"
        found[aggregate] = _never_null(aggregate, value)
    return found


def from_columns(node: Node) -> dict[Aggregate, str]:
    """Each aggregate of a node as SQL over the native combine's columns."""
    return {a: _never_null(a, f"a{index}") for index, a in enumerate(node.aggregates)}


def _never_null(aggregate: Aggregate, value: str) -> str:
    """Counts are never null, and Spark's schema says so."""
    return f"coalesce({value}, 0L)" if aggregate.function.startswith("count") else value
