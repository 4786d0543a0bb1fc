"""The data that a verb reads: files and tables of a catalog, by the relation that each one is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession

from muntin.cli.options import option
from muntin.cli.paths import check_input
from muntin.errors import RunError, nearest
from muntin.model.query import PlainQuery, Query, tables_of
from muntin.spark.files import INPUT_FORMATS, InputFormat
from muntin.sql_text import is_same_table

InputFormatName = Annotated[
    str | None, typer.Option(metavar="|".join(INPUT_FORMATS), help="Format of the inputs.")
]


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """The inputs as a command line names them."""

    input: list[str] | None = option(
        "[NAME=]PATH",
        "Events: a file or folder of parquet, csv or json. Repeat it, with names, where the "
        "queries read several relations.",
    )
    table: list[str] | None = option(
        "[NAME=]TABLE", "Events: a table of a catalog of Spark's. Repeatable."
    )
    input_format: str | None = option(
        "|".join(INPUT_FORMATS), "Format of the inputs.", show_default="what their names tell"
    )

    def __bool__(self) -> bool:
        return bool(self.input or self.table)

    def inputs(self, *, fallback: str | None = None, is_here: bool = True) -> "Inputs":
        """Returns the inputs by name; `fallback` is the format of files whose names tell none.

        Raises an error if several inputs have the same name, or none.
        """
        paths, tables = self.input or [], self.table or []
        switches: dict[str, str] = {}
        for switch, texts in (("--input", paths), ("--table", tables)):
            for text in texts:
                name, place = _name_and_place(text)
                if name in switches:
                    raise RunError(
                        f"two inputs are called {name!r}; one is enough"
                        if name
                        else f"several inputs need names, as in {switch} readings={place}"
                    )
                switches[name] = switch
        if len(switches) > 1 and "" in switches:
            (place,) = (text for text in (*paths, *tables) if _name_and_place(text)[0] == "")
            raise RunError(f"{place} needs a name, as in {switches['']} readings={place}")
        return Inputs(
            paths=dict(map(_name_and_place, paths)),
            tables=dict(map(_name_and_place, tables)),
            format=InputFormat(format=self.input_format, fallback=fallback, is_here=is_here),
        )


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Paths and tables by the names of relations; a single unnamed input has the empty name."""

    paths: Mapping[str, str]
    tables: Mapping[str, str]
    format: InputFormat

    def check(self, queries: Iterable[Query | PlainQuery], *, has_formats: bool = True) -> None:
        """Refuses missing and unknown inputs, as far as this is possible without Spark.

        `has_formats` is False if the formats of the files do not matter.
        """
        self.format.check()
        relations = tables_of(queries)
        if not self.paths and not self.tables:
            wanted = " ".join(relations)
            raise RunError(f"the queries read {wanted}; say what that is, by --input or --table")
        _check_relations(relations, [*self.paths, *self.tables])
        if self.format.is_here:
            for path in self.paths.values():
                check_input(path)
                if has_formats:
                    self.format.of(path)

    def read(self, session: SparkSession) -> DataFrame | dict[str, DataFrame]:
        """Returns the DataFrames by name, or the only DataFrame if it has no name."""
        frames = {name: self.format.read(session, path) for name, path in self.paths.items()}
        frames |= {name: session.table(table) for name, table in self.tables.items()}
        return frames.get("", frames)


def _name_and_place(text: str) -> tuple[str, str]:
    name, sign, place = text.partition("=")
    # Names of folders may contain "=", as those of Spark's partitions do.
    if not sign or "/" in name or Path(text).exists():
        return "", text
    return name, place


def _check_relations(relations: Sequence[str], names: Sequence[str]) -> None:
    if "" in names:
        if len(relations) > 1:
            wanted = " ".join(f"--input {name}=PATH" for name in relations)
            raise RunError(f"the queries read {', '.join(relations)}; give each of them: {wanted}")
        return
    missing = [each for each in relations if not any(is_same_table(each, name) for name in names)]
    for name in names:
        if missing and not any(is_same_table(relation, name) for relation in relations):
            raise RunError(
                f"no query reads {name!r}, which --input names; {nearest(name, missing)}"
            )
