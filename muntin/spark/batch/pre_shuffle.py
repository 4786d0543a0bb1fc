"""Moves events to the partitions of their keys before they are cut, so slices need not move."""

from dataclasses import replace

from muntin.model.query import Grouping
from muntin.model.sql_text import SqlText
from muntin.spark.batch.time_split import PART, TimeSplit, parts_of


def can_move(grouping: Grouping) -> bool:
    """Whether the events are those of one plain table, which is easy to wrap in a subquery."""
    return grouping.relation in (SqlText(("", ""), ("",)), _one_table(grouping.relation))


def pre_shuffled(grouping: Grouping, instant: str, split: TimeSplit | None) -> Grouping:
    """Returns the grouping over the same events, distributed by key and, if split, by part.

    `instant` is an event's time in microseconds. The column `PART` tells the parts apart.
    """
    part = f", {parts_of(instant, split)} AS {PART}" if split is not None else ""
    places = [*grouping.keys, *([PART] if split is not None else [])]
    relation = grouping.relation.inside(
        f"(SELECT *{part} FROM ",
        f" DISTRIBUTE BY {', '.join(places)}){grouping.relation.parts[-1]}",
    )
    return replace(grouping, relation=relation)


def _one_table(relation: SqlText) -> SqlText | None:
    return SqlText.table(relation.tables[0]) if relation.tables and relation.tables[0] else None
