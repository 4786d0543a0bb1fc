"""Events brought to their keys' places before they are cut: the slices need no move after that."""

from dataclasses import replace

from muntin.model.query import Family
from muntin.model.sql_text import SqlText
from muntin.spark.batch.time_split import PART, TimeSplit, parts_of


def can_move(family: Family) -> bool:
    """Whether the events are those of one table, as it is: then they are easily wrapped."""
    return family.relation in (SqlText(("", ""), ("",)), _one_table(family.relation))


def pre_shuffled(family: Family, instant: str, split: TimeSplit | None) -> Family:
    """The family over the same events, each where its key's are and, if split, its part's.

    `instant` is an event's time in microseconds. The column `PART` tells the parts apart.
    """
    part = f", {parts_of(instant, split)} AS {PART}" if split is not None else ""
    places = [*family.keys, *([PART] if split is not None else [])]
    relation = family.relation.inside(
        f"(SELECT *{part} FROM ", f" DISTRIBUTE BY {', '.join(places)}){family.relation.parts[-1]}"
    )
    return replace(family, relation=relation)


def _one_table(relation: SqlText) -> SqlText | None:
    return SqlText.table(relation.tables[0]) if relation.tables and relation.tables[0] else None
