"""Selects what all trees of a stream need of its events: time, keys, arguments, filters as bits."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType, TimestampType

from muntin.errors import RunError
from muntin.model.passes import common_filter
from muntin.model.query import Grouping
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.grouping_sql import TIME, select_events, time_to_micros
from muntin.spark.binding.relations import Relations
from muntin.spark.binding.slicer_columns import (
    ArgumentColumns,
    ConditionBits,
    SafeExpressions,
    filter_conditions,
)
from muntin.spark.stream.key_codes import key_code
from muntin.sql.filters import is_reference
from muntin.sql_text import SqlText, case_when, literal, quote_name

# The column with a whole row.
ROW = "row"
# Microseconds long before the first year that a timestamp can be in.
_BEFORE_TIME = -(1 << 63)


class Events(ABC):
    """The events of a stream as the slicer reads them."""

    @property
    @abstractmethod
    def every_event(self) -> Mapping[str, int]:
        """The bits of rows that are all events, each once."""

    @abstractmethod
    def of(self, grouping: Grouping) -> "EventColumns":
        """Returns the columns of a grouping's events."""

    @abstractmethod
    def frame(self) -> DataFrame:
        """Returns the rows with all columns that were asked for."""


class EventColumns(Events):
    """The projection that all trees over one relation read: each expression once."""

    # What the names of its columns begin with.
    prefix = ""

    def __init__(self, bound: Sequence[BoundTree], relations: Relations, watched: str) -> None:
        groupings = [each.tree.grouping for each in bound]
        first = groupings[0]
        for each in bound:
            relation = each.tree.grouping.relation
            if relation != first.relation:
                names = (next(iter(one.tree.queries)) for one in (bound[0], each))
                raise RunError(
                    f"the queries {' and '.join(map(repr, names))} read {_show(first.relation)} "
                    f"and {_show(relation)}, and those of a stream read one relation; put what "
                    f"differs into WHERE, or start a pipeline for each"
                )
        filters = [grouping.where for grouping in groupings]
        self._safe = SafeExpressions(first.relation, relations, filters)
        self._relations = relations
        self.arguments = ArgumentColumns(self._safe, self.prefix)
        self._bits = ConditionBits(self.prefix)
        self._common = common_filter(filters)
        self._first, self._time_type = first, bound[0].time_type
        self._watched = watched
        self._others: dict[str, str] = {}
        self._rows: dict[str, str] = {}

    @property
    def every_event(self) -> Mapping[str, int]:
        """The bits of rows that are all events: no bits, as all rows are."""
        return {}

    def of(self, grouping: Grouping) -> "EventColumns":
        """Returns the columns of a grouping's events: these."""
        return self

    def frame(self) -> DataFrame:
        """Returns the events of all trees with all columns."""
        return self._relations.sql(self.sql())

    @property
    def time(self) -> str:
        """The instant of an event, as SQL."""
        return time_to_micros(self._first.time, self._time_type)

    def guard(self, grouping: Grouping) -> str | None:
        """Returns the filter of a tree, unless all events that are read have passed it."""
        return None if grouping.where == self._common else grouping.where

    def masks(self, grouping: Grouping) -> dict[str, int]:
        """Returns the bits of events that a tree takes."""
        guard = self.guard(grouping)
        return {} if guard is None else self._bits.masks(filter_conditions(guard, self._safe))

    def column(self, sql: str, kind: DataType, grouping: Grouping) -> str:
        """Returns the column of a tree's key, or of what it carries.

        What is more than a column is computed only where the tree's filter holds.
        """
        encoded = key_code(kind).encode(f"({sql})")
        guard = self.guard(grouping)
        if guard is not None and not is_reference(sql):
            encoded = case_when(guard, encoded)
        return self._others.setdefault(encoded, f"{self.prefix}k{len(self._others)}")

    def whole_rows(self, rows: StructType) -> None:
        """Have every event carry its own columns, as they are."""
        fields = (f"{literal(name)}, {quote_name(name)}" for name in rows.names)
        self._rows[ROW] = f"named_struct({', '.join(fields)})"

    def sql(self) -> SqlText:
        """Returns the events of all trees with all columns."""
        columns = {
            TIME: self.time,
            **{name: sql for sql, name in self._others.items()},
            **self.arguments.columns,
            **self._bits.columns,
            **self._rows,
        }
        return select_events(replace(self._first, where=self._filter()), columns)

    def _filter(self) -> str | None:
        """Returns a filter that Spark does not move below the watermark.

        The watermark shows up to when events were read, and a query that is added is complete from
        there on. Below a filter it would follow only the events of the queries that ran before.
        Spark moves every condition down that does not mention the watched column.
        """
        if self._common is None:
            return None
        never = f"{time_to_micros(quote_name(self._watched), TimestampType())} = {_BEFORE_TIME}L"
        return f"({self._common}) OR {never}"


def _show(relation: SqlText) -> str:
    """Returns a relation as errors name it."""
    return str(relation).strip() or "the data"
