"""Statements in files: paragraphs of SQL, each under a comment line with its name and its marks."""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from muntin.spark.engine.settings import temporary_settings as configured

MARKS = {"either", "plain", "refused", "table"}
_HEAD = re.compile(r"-- (?P<name>[^\[\n]+?)(?: \[(?P<mark>\w+)\])?")
_CONF = re.compile(r"-- conf: (?P<name>\S+)=(?P<value>\S+)")

# A call of a window whose arguments after the time are quoted text; the time may have one call.
_TIME = r"(?P<time>[^(),]*(?:\([^()]*\))?[^(),]*)"
_DURATIONS = r"(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"|\d+L?)(?:\s*--[^\n]*\n)?)+\s*"
_WINDOW = re.compile(
    rf"(?<![\w`.])window(?P<gap>\s*(?:/\*.*?\*/)?\s*)\({_TIME}{_DURATIONS}\)", re.I
)
_SESSION = re.compile(r"(?<=session_window\(ts, )'\d+ minutes'", re.I)
# The last bits of these depend on the order in which rows are taken, in Spark as well.
_INEXACT = re.compile(r"\b(var|std)", re.I)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement, and what becomes of it: `shared`, `either`, `plain` or `refused`."""

    name: str
    sql: str
    fate: str

    @property
    def tolerance(self) -> float:
        """How far floats may be off, relative."""
        return 1e-9 if _INEXACT.search(self.sql) else 0.0

    @property
    def has_other_window(self) -> bool:
        """Whether the statement can be asked over another window, too."""
        return self.fate in ("shared", "either") and self.with_other_window() != self.sql

    def with_other_window(self) -> str:
        """The same statement over a longer window that overlaps itself, or a session of more."""
        seconds = "local" in self.sql
        size, slide = ("'20 seconds'", "'5 seconds'") if seconds else ("'5 hours'", "'30 minutes'")
        sql = _WINDOW.sub(
            lambda call: f"window{call['gap']}({call['time']}, {size}, {slide})", self.sql
        )
        return _SESSION.sub("'25 minutes'", sql)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The statements of one file, the tables that are its own, and the settings that they need."""

    name: str
    settings: dict[str, str]
    tables: dict[str, str]
    statements: dict[str, Statement]

    def configured(self, spark: SparkSession) -> AbstractContextManager[None]:
        """The session with the file's settings, and afterwards as it was before."""
        return configured(spark, self.settings)


def read_kind(path: Path) -> Kind:
    """The paragraphs of a file; an error names the one that cannot be read."""
    kind = Kind(name=path.stem, settings={}, tables={}, statements={})
    for paragraph in re.split(r"\n[ \t]*\n", path.read_text().strip()):
        head, _, sql = paragraph.partition("\n")
        setting = _CONF.fullmatch(head)
        if setting is not None:
            kind.settings[setting["name"]] = setting["value"]
            continue
        found = _HEAD.fullmatch(head)
        assert found is not None, f"{path.name}: {head!r} is no name of a statement"
        name, mark = found["name"], found["mark"]
        assert sql, f"{path.name}: {name!r} has no SQL"
        assert mark is None or mark in MARKS, f"{path.name}: {name!r} has the mark {mark!r}"
        assert name not in {*kind.tables, *kind.statements}, f"{path.name}: {name!r} stands twice"
        if mark == "table":
            kind.tables[name] = sql
        else:
            kind.statements[name] = Statement(name=name, sql=sql, fate=mark or "shared")
    return kind
