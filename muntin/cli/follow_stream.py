"""Follows a stream while it runs: shows its status, and applies edits of its file of queries."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.box import SIMPLE
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from muntin.cli.sql_file import SqlFile
from muntin.errors import MuntinError
from muntin.model.plan_json import definition
from muntin.model.query import PlainQuery, Query
from muntin.spark.error_text import error_line
from muntin.spark.pipeline.pipeline import Pipeline
from muntin.spark.pipeline.status import Replan, Status

# How often the status is shown and the file of queries is polled.
_INTERVAL_S = 0.5
_SIZES = ("bytes", "kB", "MB", "GB", "TB")


class StatusView:
    """Prints a line for each batch and each message while its block runs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._batches = 0

    def __enter__(self) -> "StatusView":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, status: Status) -> None:
        """Shows the current status, if there was a batch since the last call."""
        if status.batches != self._batches:
            self._batches = status.batches
            rows = ", ".join(f"{name} {query.rows}" for name, query in status.queries.items())
            self._print(f"{_totals(status)}; rows out: {rows}")

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Shows a message; `wrong` marks an error."""
        self._print(f"error: {text}" if wrong else text)

    def _print(self, text: str) -> None:
        self._console.print(f"{_clock()} {text}", soft_wrap=True, markup=False, highlight=False)
        self._console.file.flush()


class LiveTable(StatusView):
    """A table that is redrawn in place, with the last message below it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._message = Text("")
        self._table: list[Table] = []
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, status: Status) -> None:
        """Redraws the table."""
        self._table = [_status_table(status)]
        self._live.update(Group(*self._table, self._message), refresh=True)

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Shows the message below the table."""
        self._message = Text(f"{_clock()}  {text}", style="red" if wrong else "dim")
        self._live.update(Group(*self._table, self._message), refresh=True)


def status_view(console: Console) -> StatusView:
    """Returns a live table for a terminal, and plain lines for a pipe."""
    return LiveTable(console) if console.is_terminal else StatusView(console)


def _status_table(status: Status) -> Table:
    table = Table(box=SIMPLE, caption=_totals(status), caption_justify="left")
    table.add_column("query")
    for column in ("rows out", "last window", "complete from"):
        table.add_column(column, justify="right")
    for name, query in status.queries.items():
        table.add_row(
            name,
            f"{query.rows:,}",
            "-" if query.last_window is None else format_instant(query.last_window),
            format_start(query.complete_from),
        )
    return table


def _totals(status: Status) -> str:
    parts = [f"{status.batches:,} batches", f"{status.rows_in:,} rows in"]
    parts.append(f"{status.late_rows:,} late")
    if status.watermark is not None:
        parts.append(f"watermark {_format_iso(status.watermark)}")
    if status.batch_seconds is not None:
        parts.append(f"last batch {status.batch_seconds:.1f} s")
    parts.append(f"state {status.state_rows:,} rows, {format_bytes(status.state_bytes)}")
    return ", ".join(parts)


def format_instant(micros: int) -> str:
    """Returns an instant in UTC, with as many digits of the second as it has."""
    seconds, rest = divmod(micros, 1_000_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}.{rest:06d}".rstrip("0") if rest else text


def format_start(first: int | None) -> str:
    """Returns the instant from which a query's answers are complete."""
    return "the start" if first is None else format_instant(first)


def format_bytes(amount: int) -> str:
    """Returns a number of bytes in the largest unit that fits: 1.5 MB."""
    value, unit = float(amount), 0
    while value >= 1000 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_SIZES[unit]}" if unit else f"{amount} bytes"


def _format_iso(text: str) -> str:
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return format_instant(round(moment.timestamp() * 1000) * 1000)


def _clock() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")


class Edits:
    """Polls a file and reports when it has changed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        # Why the file could not be read in the last two polls; None if it was read.
        self.problem: str | None = None
        self._reported = self._latest = self._read()

    def poll(self) -> bool:
        """Reads the file again; returns whether it has new text that did not change since the
        last poll.

        Editors write a file in pieces or replace it, so a file that is still changing, or missing
        for a moment, has no new text yet.
        """
        previous, self._latest = self._latest, self._read()
        if self._latest != previous:
            return False
        self.problem = self._latest if isinstance(self._latest, str) else None
        if self.problem is not None or self._latest == self._reported:
            return False
        self._reported = self._latest
        return True

    def _read(self) -> bytes | str:
        """Returns the bytes of the file, or why it cannot be read."""
        try:
            return self.file.read_bytes()
        except OSError as error:
            return f"{self.file} cannot be read: {error.strerror or error}"


@dataclass(frozen=True, kw_only=True)
class QueryChanges:
    """The names of the queries that an edit adds, removes and changes, in the order of the file."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @staticmethod
    def between(
        old: Iterable[Query | PlainQuery], new: Iterable[Query | PlainQuery]
    ) -> "QueryChanges":
        """Compares two lists of queries by their names and definitions."""
        before, after = (
            {query.name: definition(query) for query in queries} for queries in (old, new)
        )
        return QueryChanges(
            added=tuple(name for name in after if name not in before),
            removed=tuple(name for name in before if name not in after),
            changed=tuple(name for name in after if before.get(name, after[name]) != after[name]),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        return "; ".join(f"{verb} {', '.join(names)}" for verb, names in parts.items() if names)


def follow_stream(
    pipeline: Pipeline,
    session: SparkSession,
    source: str,
    edits: Edits | None,
    stop: threading.Event,
    view: StatusView,
) -> None:
    """Shows the status and applies edits of the file until the stream ends or `stop` is set."""
    refused = phase = None
    dropped: set[str] = set()
    replans: set[Replan] = set()
    while not stop.wait(_INTERVAL_S):
        status = pipeline.status()
        view.show(status)
        if (current := describe_phase(status, source)) != phase:
            phase = current
            view.say(f"{len(status.queries)} queries over {source}; {current}")
        for name in status.dropped.keys() - dropped:
            view.say(f"query {name!r} was dropped: {status.dropped[name]}", wrong=True)
        dropped = set(status.dropped)
        replans = say_replans(status, replans, view)
        if status.refused != refused:
            refused = status.refused
            view.say(refused or "", wrong=True)
        if not status.is_active and pipeline.await_termination(_INTERVAL_S):
            return
        if edits is not None and poll_edits(edits, view):
            _apply_edit(pipeline, session, edits.file, view)
            refused = pipeline.status().refused


def say_replans(status: Status, known: set[Replan], view: StatusView) -> set[Replan]:
    """Shows moves to other plans, and failures to move, that are not known; returns all of them."""
    for each in status.replans:
        if each not in known:
            failed = "" if each.error is None else f"; re-planning failed: {each.error}"
            view.say(f"{each.reason}{failed}", wrong=each.error is not None)
    return set(status.replans)


def describe_phase(status: Status, source: str) -> str:
    """Returns what a stream waits for before its first batch, and later how to stop it."""
    if status.batches:
        return "Ctrl-C stops after the batch"
    return f"no new files yet in {source}" if status.is_waiting else "waiting for the first batch"


def poll_edits(edits: Edits, view: StatusView) -> bool:
    """Whether the file has new text; reports when it cannot be read, and when it can again."""
    problem, is_new = edits.problem, edits.poll()
    if edits.problem is not None and edits.problem != problem:
        view.say(f"{edits.problem}; the earlier queries continue", wrong=True)
    elif edits.problem != problem:
        view.say(f"{edits.file} can be read again")
    return is_new


def _apply_edit(pipeline: Pipeline, session: SparkSession, file: Path, view: StatusView) -> None:
    """Replaces the queries of the pipeline by those of the file, unless they are wrong."""
    try:
        sql_file = SqlFile.read(file)
        changes = QueryChanges.between(pipeline.queries, sql_file.queries)
        if not changes:
            return
        sql_file.check_syntax(session)
        view.say(f"changing the queries: {changes}")
        with sql_file.locate_errors():
            pipeline.replace(sql_file.queries)
    except (MuntinError, PySparkException, Py4JError, OSError) as error:
        is_own = isinstance(error, MuntinError | OSError)
        message = str(error) if is_own else error_line(error)
        view.say(f"{' '.join((message or '').split())}; the earlier queries continue", wrong=True)
        return
    starts = [
        f"{name} complete from {format_start(pipeline.complete_from[name])}"
        for name in (*changes.added, *changes.changed)
    ]
    view.say("; ".join([str(changes), *starts]))
