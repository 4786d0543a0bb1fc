"""Puts the answers of all queries into one frame, as they are written.

The frame is made once, when a stream starts: Spark analyses every new frame, and a few of them in
every batch would cost more than the windows do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr
from pyspark.sql.types import StructType

from muntin.model.sql_text import literal, quoted
from muntin.spark.output.naming import NUMBER
from muntin.spark.output.project import Output
from muntin.spark.output.together import Numbered, merged
from muntin.spark.sinks.sink import INDEX, Stack


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Queries with the same columns, by number."""

    names: Mapping[int, str]
    columns: Sequence[Output]
    # The column with these columns as a struct, if there are several groups.
    struct: str | None


class Stacking:
    """Puts the answers of all queries into one frame, and takes it apart again."""

    def __init__(self, rows: Numbered, alike: Sequence[Sequence[str]]) -> None:
        """`alike` has the queries, grouped by equal columns."""
        numbers = {name: number for number, name in enumerate(rows.outputs)}
        self._rows = rows.frame
        self._groups = []
        for index, names in enumerate(alike):
            outputs = {
                name: columns if name in names else () for name, columns in rows.outputs.items()
            }
            self._groups.append(
                _Group(
                    names={numbers[name]: name for name in names},
                    columns=merged(outputs),
                    struct=f"g{index}" if len(alike) > 1 else None,
                )
            )

    def frame(self) -> DataFrame:
        """Returns all answers, with the numbers of their queries."""
        columns = []
        for group in self._groups:
            if group.struct is None:
                columns += [output.column() for output in group.columns]
            else:
                fields = ", ".join(
                    f"{literal(column.name)}, {column.sql}" for column in group.columns
                )
                here = f"{NUMBER} IN ({', '.join(map(str, group.names))})"
                columns.append(
                    expr(f"CASE WHEN {here} THEN named_struct({fields}) END").alias(group.struct)
                )
        return self._rows.select(*columns, col(NUMBER).alias(INDEX))

    def stacks(self, frame: DataFrame) -> list[Stack]:
        """Splits a batch of that frame by columns: queries with equal columns are one stack."""
        return [Stack(names=group.names, frame=_part(group, frame)) for group in self._groups]


def alike(schemas: Mapping[str, StructType]) -> list[list[str]]:
    """Groups queries with equal columns."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, schema in schemas.items():
        columns = tuple((field.name, field.dataType.simpleString()) for field in schema.fields)
        groups.setdefault(columns, []).append(name)
    return list(groups.values())


def _part(group: _Group, frame: DataFrame) -> DataFrame:
    if group.struct is None:
        return frame
    columns = (
        replace(column, sql=f"{group.struct}.{quoted(column.name)}").column()
        for column in group.columns
    )
    return frame.where(f"{group.struct} IS NOT NULL").select(*columns, INDEX)
