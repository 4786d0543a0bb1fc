"""Options that several verbs share.

An option group is a dataclass whose fields are made by `option` and `flag`. A verb takes a group as
one parameter, and `with_option_groups` gives typer the fields.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import DataFrame, SparkSession

from muntin.cli.paths import check_folder, check_input, is_remote
from muntin.errors import RunError, nearest
from muntin.model.query import PlainQuery, Query, tables_of
from muntin.optimizer.edges import SLICINGS
from muntin.optimizer.strategies import DEFAULT, STEADY, STRATEGIES
from muntin.spark.files import FORMATS, INPUT_FORMATS, InputFormat, check_format
from muntin.spark.session import SparkOptions
from muntin.sql_text import is_same_table
from muntin.techniques.table import TECHNIQUES

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.sql", help="Spark SQL statements, separated by `;`. `-` is standard input."
    ),
]
Udf = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A function of your own that the queries call."),
]


def option(metavar: str, help: str, *, default: Any = None, **more: Any) -> Any:
    """Returns a field of an option group; it is required if its default is `MISSING`.

    `more` are further arguments of `typer.Option`.
    """
    return field(default=default, metadata={"metavar": metavar, "help": help, **more})


def flag(help: str) -> Any:
    """Returns a field of an option group that is False without the option."""
    return field(default=False, metadata={"help": help})


def _names(known: dict[str, Any]) -> dict[str, Any]:
    return {"metavar": "NAME", "autocompletion": lambda: list(known)}


Strategy = Annotated[
    str | None,
    typer.Option(
        help=f"How to share: {', '.join(STRATEGIES)}.",
        show_default=f"{DEFAULT}; {STEADY} for a stream",
        **_names(STRATEGIES),
    ),
]


@dataclass(frozen=True, kw_only=True)
class PlanningOptions:
    """How queries are planned."""

    strategy: Strategy = None
    technique: str | None = option(
        help=f"How windows are computed, for all of them: {', '.join(TECHNIQUES)}.",
        show_default="chosen by the plan",
        **_names(TECHNIQUES),
    )
    slicing: str | None = option(
        help=f"Where events are cut for periodic windows: {', '.join(SLICINGS)}.",
        show_default="chosen by the plan",
        **_names(SLICINGS),
    )
    latency: bool = flag("Choose techniques that never take long for one answer.")
    approximate: bool = flag(
        "Share sketches, too, whose answers may differ from Spark's within their errors."
    )

    def arguments(self, default_strategy: str = DEFAULT) -> dict[str, Any]:
        """Returns the keyword arguments for `plan`, `run`, `start` and `compare`."""
        return {
            "strategy": self.strategy or default_strategy,
            "technique": self.technique,
            "slicing": self.slicing,
            "latency": self.latency,
            "approximate": self.approximate,
        }


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where answers go, and in which format."""

    output: str = option("DIR", "Where to put a folder for each query.", default=MISSING)
    format: str | None = option(
        "|".join(FORMATS), "Format of the answers, and of inputs whose names do not tell theirs."
    )
    output_format: str | None = option(
        "|".join(FORMATS), "Format of the answers.", show_default="parquet"
    )
    flatten: bool = flag(
        "Write the fields of structs as columns: window_start and window_end, not window."
    )

    @property
    def answer_format(self) -> str:
        """The format of the answers."""
        return self.output_format or self.format or "parquet"

    @property
    def is_remote(self) -> bool:
        """Whether only Spark reaches the output folder."""
        return is_remote(self.output)

    def check(self, cluster: "ClusterOptions") -> None:
        """Refuses an unknown format, and a folder on this machine that cannot be written."""
        check_format(self.answer_format)
        if cluster.is_here:
            check_folder(self.output, "--output")

    def spark_options(self) -> dict[str, str]:
        """Returns the options of Spark's writer."""
        return {"header": "true"} if self.answer_format == "csv" else {}


@dataclass(frozen=True, kw_only=True)
class SessionOptions:
    """Settings of the Spark session."""

    conf: list[str] | None = option("KEY=VALUE", "A setting of Spark's. Repeatable.")
    packages: list[str] | None = option(
        "GROUP:NAME:VERSION", "A package for Spark, by its Maven name. Repeatable."
    )

    def to_spark(self, remote: str | None = None, master: str | None = None) -> SparkOptions:
        """Returns the options of the session; raises an error if they contradict each other."""
        return SparkOptions.of(
            remote=remote, master=master, conf=self.conf or (), packages=self.packages or ()
        )


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(SessionOptions):
    """Where Spark runs, and its settings."""

    remote: str | None = option(
        "URL", "A server of Spark Connect, such as sc://host:15002; paths are the server's."
    )
    master: str | None = option(
        "URL",
        "A cluster, such as yarn or spark://host:7077.",
        show_default="all cores of this machine",
    )

    @property
    def is_here(self) -> bool:
        """Whether paths without a scheme are paths of this machine."""
        return self.remote is None

    def to_spark(self, remote: str | None = None, master: str | None = None) -> SparkOptions:
        """Returns the options of the session; raises an error if they contradict each other."""
        return super().to_spark(remote or self.remote, master or self.master)


def with_option_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Returns the verb with the fields of its option groups as separate parameters."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(verb).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += map(_parameter, fields(parameter.annotation))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def command(**values: Any) -> None:
        grouped = {
            name: group(**{each.name: values.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        verb(**grouped, **values)

    command.__doc__ = verb.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameter(option: Field[Any]) -> inspect.Parameter:
    """Returns the parameter of typer for a field of an option group."""
    kind: Any = option.type
    if option.metadata:
        name = f"--{option.name.replace('_', '-')}"
        kind = Annotated[kind, typer.Option(name, **option.metadata)]
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.default is MISSING else option.default,
        annotation=kind,
    )


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
