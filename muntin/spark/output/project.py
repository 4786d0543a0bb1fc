"""Projects answers to the columns of queries: names, types, order, HAVING."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import ArrayType, DataType, StringType, StructType

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.parameters import items_tracked
from muntin.aggregates.table import BYTES, COUNT, ITEMS, STATE, VALUES
from muntin.model.data_windows import DataWindow, Session
from muntin.model.query import Query
from muntin.model.trees import TreeNode
from muntin.model.windows import Window
from muntin.runtime.data_windows.tree import END
from muntin.runtime.periodic.tree import BEGIN
from muntin.runtime.storage.layout import Layout, slots_of
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.grouping_sql import key_column, window_struct
from muntin.spark.engine.statements import sql_over
from muntin.sql_text import SqlText, collapse_spaces, quote_name

# Spark recognizes a window's column by this, so that `window` and `window_time` take it.
WINDOW_METADATA = {"spark.timeWindow": True}
SESSION_METADATA = {"spark.sessionWindow": True}
# The prefix of our own columns in frames that also have users' columns.
RESERVED = "_muntin_"


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The begin and the end of windows, in microseconds."""

    begin: str
    end: str
    # Whether the window is nullable in Spark's schema, as for overlapping windows.
    is_nullable: bool = False

    @staticmethod
    def of(windows: Sequence[Window | DataWindow], index: str | None = None) -> "Bounds":
        """Returns the bounds of rows of some windows; the number of a row's window is at `index`.

        Data windows have an end of their own; among others they have none here.
        """
        periodic = [window for window in windows if isinstance(window, Window)]
        if not periodic:
            return Bounds(begin=BEGIN, end=END)
        sizes = [f"{window.size}L" if isinstance(window, Window) else "0L" for window in windows]
        return Bounds(
            begin=_window_start(windows, index),
            end=f"{BEGIN} + {pick_by_index(sizes, index)}",
            is_nullable=any(not window.is_tumbling and not window.grows for window in periodic),
        )


def _window_start(windows: Sequence[Window | DataWindow], index: str | None) -> str:
    """Returns the SQL of a window's begin; see `Window` for how cumulating windows are encoded."""
    cuts = [
        (window.size - window.slide, window.offset, window.size)
        if isinstance(window, Window) and window.grows
        else (0, 0, 1)
        for window in windows
    ]
    if not any(lead for lead, _, _ in cuts):
        return BEGIN
    lead, phase, period = (
        pick_by_index([f"{value}L" for value in values], index)
        for values in zip(*cuts, strict=True)
    )
    return f"{BEGIN} + {lead} - pmod({BEGIN} + {lead} - {phase}, {period})"


def pick_by_index(values: Sequence[str], index: str | None) -> str:
    """Returns SQL for the value at a row's index; None if all are equal."""
    if len(set(values)) == 1:
        return values[0]
    return f"element_at(array({', '.join(values)}), {index} + 1)"


@dataclass(frozen=True, kw_only=True)
class Name:
    """A column that a query's expressions may name, as SQL over a tree's answers."""

    name: str
    sql: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def column(self) -> SparkColumn:
        """The column for a `select`; a bare column keeps its own metadata."""
        column = expr(self.sql)
        if not self.metadata:
            return column.alias(self.name)
        return column.alias(self.name, metadata=self.metadata)


@dataclass(frozen=True, kw_only=True)
class Output(Name):
    """One column of an answer as SQL over a tree's answers, or over the query's names."""

    uses_names: bool = False
    # The name, if its expression is just one of the query's names; then `uses_names` is false.
    alone: str | None = None


@dataclass(frozen=True, kw_only=True)
class Projection:
    """How a query's answer follows from the rows of its node: conditions, then columns.

    Spark resolves the user's expressions against columns that have the query's names.
    """

    outputs: tuple[Output, ...]
    names: tuple[Name, ...] = ()
    # Our condition, over a tree's answers, and the user's, over the query's names.
    condition: str | None = None
    having: str | None = None
    # The user's order and limit, over the query's names.
    ending: str | None = None

    def apply(self, frame: DataFrame) -> DataFrame:
        """Returns the query's answer from the rows of its node."""
        if self.condition is not None:
            frame = frame.where(self.condition)
        uses_names = any(output.uses_names for output in self.outputs)
        if self.having is None and self.ending is None and not uses_names:
            return frame.select(*(output.column() for output in self.outputs))
        # A name that differs from another only in case is passed on under a name of ours.
        spellings = Counter(name.name.lower() for name in self.names)
        through = {
            index: replace(output, name=f"{RESERVED}{index}")
            for index, output in enumerate(self.outputs)
            if output.alone is not None and spellings[output.alone.lower()] > 1
        }
        # With the alias, a condition cannot name columns of the frame below.
        frame = frame.select(
            *(name.column() for name in self.names), *(name.column() for name in through.values())
        ).alias("answers")
        if self.having is not None:
            frame = frame.where(self.having)
        if self.ending is not None:
            rows = SqlText(("SELECT * FROM ", f" {self.ending}"), ("answers",))
            frame = sql_over(frame.sparkSession, rows, {"answers": frame})
        return frame.select(
            *(
                replace(output, sql=_over_names(output, through.get(index))).column()
                for index, output in enumerate(self.outputs)
            )
        )


def _over_names(output: Output, through: Output | None) -> str:
    if through is not None:
        return through.name
    return output.sql if output.alone is None else quote_name(output.alone)


def projection(
    query: Query,
    answers: Mapping[Aggregate, str],
    bound: BoundTree,
    *,
    bounds: Bounds | None = None,
    plain: StructType | None = None,
    keys: Sequence[str] | None = None,
    null_keys: Mapping[str, str] | None = None,
) -> Projection:
    """Returns the columns and conditions of a query over the answers of its tree.

    `answers` has the SQL of each aggregate. `bounds` are those of the window, if they do not follow
    from the query alone. `plain` is the schema that Spark gives the
    query, needed if Spark names some columns. `keys` has the SQL of the keys, if they are
    not columns. `null_keys` has that of keys that the query's grouping set leaves out, by name.
    """
    position = {key: index for index, key in enumerate(bound.tree.grouping.keys)}
    keys = keys or [key_column(index) for index in position.values()]
    bounds = bounds or Bounds.of([query.window])
    window = window_struct(bounds.begin, bounds.end, bound.time_type, nullable=bounds.is_nullable)
    sql = {
        **{
            name: keys[position[collapse_spaces(key)]]
            for name, key in query.key_expressions.items()
        },
        **(null_keys or {}),
        **{name: answers[aggregate] for name, aggregate in query.aggregates.items()},
        **query.mark_values,
    }
    by_name = {name: Name(name=name, sql=text) for name, text in sql.items()}
    by_name["window"] = Name(name="window", sql=window, metadata=_window_metadata(query))
    names = [by_name[name] for name in query.names]
    outputs = []
    for index, column in enumerate(query.columns):
        alone = query.bare_name(column.expression)
        text = column.expression if alone is None else by_name[alone].sql
        metadata = {} if alone is None else by_name[alone].metadata
        name = column.name
        if name is None:
            assert plain is not None
            name, metadata = plain.fields[index].name, dict(plain.fields[index].metadata)
        outputs.append(
            Output(name=name, sql=text, metadata=metadata, uses_names=alone is None, alone=alone)
        )
    return Projection(
        outputs=tuple(outputs), names=tuple(names), having=query.having, ending=query.ending
    )


def _window_metadata(query: Query) -> dict[str, Any]:
    if isinstance(query.window, Session):
        return SESSION_METADATA
    is_sparks_own = isinstance(query.window, Window) and not query.window.grows
    return WINDOW_METADATA if is_sparks_own else {}


def from_slots(node: TreeNode, layout: Layout, bound: BoundTree) -> dict[Aggregate, str]:
    """Returns each aggregate of a node as SQL over the runtime's slots, in Spark's type."""
    answers = {}
    for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
        if len(places) > 1:
            # Adding the two summands overflows, with Spark's own error, if the sum did.
            value = f"({' + '.join(places)})"
        else:
            kind = bound.types[aggregate]
            if aggregate.definition.result == STATE:
                answers[aggregate] = _sketch_struct(quote_name(places[0]), aggregate, kind)
                continue
            value = f"CAST({aggregate.summary_sql(quote_name(places[0]))} AS {kind.simpleString()})"
            if isinstance(kind, ArrayType) and not kind.containsNull:
                # Spark then knows that no element is null.
                value = f"array_compact({value})"
        answers[aggregate] = _replace_null(aggregate, value)
    return answers


def _sketch_struct(sketch: str, aggregate: Aggregate, kind: DataType) -> str:
    """Returns a sketch of the most frequent values as Spark's struct, with the type of values."""
    assert isinstance(kind, StructType)
    item = kind["itemDataType"].dataType
    # Spark writes strings in lower case.
    is_text = isinstance(item, StringType)
    ddl = "item string not null" if is_text else f"item {item.simpleString().upper()} NOT NULL"
    return (
        f"named_struct('sketch', coalesce({sketch}, X''), "
        f"'maxItemsTracked', {items_tracked(aggregate.parameters)}, "
        f"'itemDataType', CAST(NULL AS {item.simpleString()}), 'itemDataTypeDDL', '{ddl}')"
    )


def from_columns(node: TreeNode) -> dict[Aggregate, str]:
    """Returns each aggregate of a node as SQL over the native combine's columns."""
    return {a: _replace_null(a, f"a{index}") for index, a in enumerate(node.aggregates)}


def _replace_null(aggregate: Aggregate, value: str) -> str:
    """Makes counts, lists, bytes and the counts of items not nullable, as in Spark's schema."""
    match aggregate.definition.result:
        case result if result == COUNT:
            return f"coalesce({value}, 0L)"
        case result if result == VALUES:
            return f"coalesce({value}, array())"
        case result if result == BYTES:
            return f"coalesce({value}, X'')"
        case result if result == ITEMS:
            counted = "named_struct('item', each.item, 'count', coalesce(each.count, 0L))"
            return f"coalesce(transform({value}, each -> {counted}), array())"
    return value
