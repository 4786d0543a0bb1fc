"""What a command was given: inputs by name, prices, and how to plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from pyspark.sql import DataFrame, SparkSession

from muntin.cli.paths import check_input
from muntin.errors import RunError, nearest
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import PlainQuery, Query, tables_of
from muntin.model.sql_text import is_same_table
from muntin.spark.files import InputFormat


class Planning(TypedDict):
    """How queries are to be planned, as the functions take it that plan."""

    strategy: str
    technique: str | None
    latency: bool
    approximate: bool


def prices_in(file: Path | None) -> Prices:
    """Reads the prices that `muntin calibrate` wrote; without a file, returns the shipped ones."""
    return SHIPPED if file is None else Prices.from_json(file.read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The data of a command: files and tables of the catalog, by the relation that each is.

    A single input without a name has the empty name.
    """

    paths: Mapping[str, str]
    tables: Mapping[str, str]
    format: InputFormat

    @staticmethod
    def of(paths: Sequence[str], tables: Sequence[str], format: InputFormat) -> "Inputs":
        """Reads `[NAME=]PATH` and `[NAME=]TABLE`; raises an error where names are missing."""
        named: dict[str, str] = {}
        for option, texts in (("--input", paths), ("--table", tables)):
            for text in texts:
                name, place = _name_and_place(text)
                if name in named:
                    raise RunError(
                        f"two inputs are called {name!r}; one is enough"
                        if name
                        else f"several inputs need names, as in {option} readings={place}"
                    )
                named[name] = option
        if len(named) > 1 and "" in named:
            (place,) = (text for text in (*paths, *tables) if _name_and_place(text)[0] == "")
            raise RunError(f"{place} needs a name, as in {named['']} readings={place}")
        return Inputs(
            paths=dict(map(_name_and_place, paths)),
            tables=dict(map(_name_and_place, tables)),
            format=format,
        )

    def check(self, queries: Iterable[Query | PlainQuery], *, has_formats: bool = True) -> None:
        """Refuse what can be refused without Spark; formats only if those of the files count."""
        self.format.check()
        names = [*self.paths, *self.tables]
        relations = tables_of(queries)
        if not names:
            wanted = " ".join(relations)
            raise RunError(f"the queries read {wanted}; say what that is, by --input or --table")
        check_relations(relations, names)
        if self.format.is_here:
            for path in self.paths.values():
                check_input(path)
                if has_formats:
                    self.format.of(path)

    def read(self, session: SparkSession) -> DataFrame | dict[str, DataFrame]:
        """Returns the DataFrames by name; the DataFrame if there is one without a name."""
        frames = {name: self.format.read(session, path) for name, path in self.paths.items()}
        frames |= {name: session.table(table) for name, table in self.tables.items()}
        return frames.get("", frames)


def _name_and_place(text: str) -> tuple[str, str]:
    name, sign, place = text.partition("=")
    # Folders may have the sign in their names, as Spark's own partitions do.
    if not sign or "/" in name or Path(text).exists():
        return "", text
    return name, place


def check_relations(relations: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names of inputs that do not match the relations that the queries read."""
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
