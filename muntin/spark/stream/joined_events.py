"""Selects what trees need of a stream and of its joins with static tables, in one reading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import TimestampType

from muntin.model.query import Grouping
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.grouping_sql import TIME, time_to_micros
from muntin.spark.binding.relations import Relations
from muntin.spark.stream.event_columns import EventColumns, Events
from muntin.spark.stream.relation_copies import NUMBER, RelationCopies
from muntin.sql_text import SqlText, quote_name

# The column of bits: that of the relation that a row is of.
_RELATION = "relation"


@dataclass(frozen=True, kw_only=True)
class JoinedStream:
    """A stream with a watermark, and what is read of it."""

    frame: DataFrame
    # The column that the watermark follows.
    watched: str
    # How many operators above the source are the stream's own.
    operators: int
    # The relation that has every event once, if there is one.
    whole: SqlText | None


class JoinedEvents(Events):
    """The rows of each relation, with a bit that says which relation it is."""

    def __init__(
        self, bound: Sequence[BoundTree], relations: Relations, stream: JoinedStream
    ) -> None:
        self._relations, self._stream = relations, stream
        trees: dict[SqlText, list[BoundTree]] = {}
        for each in bound:
            trees.setdefault(each.tree.grouping.relation, []).append(each)
        self._columns = {
            relation: _RelationColumns(
                members, relations, number, is_whole=relation == stream.whole
            )
            for number, (relation, members) in enumerate(trees.items())
        }

    @property
    def every_event(self) -> Mapping[str, int]:
        """The bits of the relation that has every event once, or of rows that are only counted."""
        whole = self._stream.whole
        number = len(self._columns) if whole is None else self._columns[whole].number
        return {_RELATION: 1 << number}

    def of(self, grouping: Grouping) -> EventColumns:
        """Returns the columns of a grouping's events."""
        return self._columns[grouping.relation]

    def frame(self) -> DataFrame:
        """Returns the rows of all relations, each with the columns of its own relation."""
        time = expr(time_to_micros(quote_name(self._stream.watched), TimestampType()))
        copies = RelationCopies(
            self._stream.frame.where(time.isNotNull()),
            self._stream.operators,
            len(self._columns) + (self._stream.whole is None),
        )
        columns = {TIME: time, _RELATION: expr(f"shiftleft(1L, {NUMBER})")}
        for each in self._columns.values():
            own = copies.add(each.number, self._relations.sql(each.sql()))
            columns |= {name: column for name, column in own.items() if name != TIME}
        return copies.select(columns)


class _RelationColumns(EventColumns):
    """The columns of one relation."""

    def __init__(
        self,
        bound: Sequence[BoundTree],
        relations: Relations,
        number: int,
        *,
        is_whole: bool,
    ) -> None:
        self.number, self.prefix = number, f"r{number}_"
        super().__init__(bound, relations, "")
        if is_whole:
            # All rows are there to be counted.
            self._common = None

    def masks(self, grouping: Grouping) -> dict[str, int]:
        """Returns the bits of events that a tree takes."""
        return {_RELATION: 1 << self.number, **super().masks(grouping)}

    def _filter(self) -> str | None:
        # Spark cannot move it below the watermark: it holds for the rows of one relation.
        return self._common
