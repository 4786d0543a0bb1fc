"""A pipeline's figures as they change: a table on a terminal, lines in a pipe."""

from datetime import UTC, datetime
from typing import Protocol

from rich.box import SIMPLE
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from muntin.spark.pipeline.status import Status

_SIZES = ("bytes", "kB", "MB", "GB", "TB")


class View(Protocol):
    """Shows what happens, until the end of its block."""

    def __enter__(self) -> "View": ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, status: Status) -> None:
        """The figures as they are now."""

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Something that has happened."""


def view(console: Console) -> View:
    """Returns a live table for a terminal, and plain lines for a pipe."""
    return LiveTable(console) if console.is_terminal else Lines(console)


class LiveTable:
    """A table that is drawn anew in its place, and below it what happened last."""

    def __init__(self, console: Console) -> None:
        self._said = Text("")
        self._status: Status | None = None
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, status: Status) -> None:
        """Draw the table."""
        self._status = status
        self._draw()

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Put it below the table."""
        self._said = Text(f"{_clock()}  {text}", style="red" if wrong else "dim")
        self._draw()

    def _draw(self) -> None:
        parts = [table(self._status)] if self._status is not None else []
        self._live.update(Group(*parts, self._said), refresh=True)


class Lines:
    """A line for each batch, and for each thing that happens."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._batches = 0

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, status: Status) -> None:
        """A line, if there was a batch since the last one."""
        if status.batches != self._batches:
            self._batches = status.batches
            rows = ", ".join(f"{name} {query.rows}" for name, query in status.queries.items())
            self._print(f"{_sums(status)}; rows out: {rows}")

    def say(self, text: str, *, wrong: bool = False) -> None:
        """A line."""
        self._print(f"error: {text}" if wrong else text)

    def _print(self, text: str) -> None:
        self._console.print(f"{_clock()} {text}", soft_wrap=True, markup=False, highlight=False)
        self._console.file.flush()


def table(status: Status) -> Table:
    """A row for each query; the sums are the caption."""
    table = Table(box=SIMPLE, caption=_sums(status), caption_justify="left")
    table.add_column("query")
    for column in ("rows out", "last window", "complete from"):
        table.add_column(column, justify="right")
    for name, query in status.queries.items():
        table.add_row(
            name,
            f"{query.rows:,}",
            "-" if query.last_window is None else instant(query.last_window),
            since(query.complete_from),
        )
    return table


def _sums(status: Status) -> str:
    said = [f"{status.batches:,} batches", f"{status.rows_in:,} rows in"]
    said.append(f"{status.late_rows:,} late")
    if status.watermark is not None:
        said.append(f"watermark {_iso(status.watermark)}")
    if status.batch_seconds is not None:
        said.append(f"last batch {status.batch_seconds:.1f} s")
    said.append(f"state {status.state_rows:,} rows, {size(status.state_bytes)}")
    return ", ".join(said)


def instant(micros: int) -> str:
    """An instant in UTC; as many digits as it needs."""
    seconds, rest = divmod(micros, 1_000_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}.{rest:06d}".rstrip("0") if rest else text


def since(first: int | None) -> str:
    """From when a query is complete."""
    return "the start" if first is None else instant(first)


def size(amount: int) -> str:
    """A number of bytes for a reader: 1.5 MB."""
    value, unit = float(amount), 0
    while value >= 1000 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_SIZES[unit]}" if unit else f"{amount} bytes"


def _iso(text: str) -> str:
    """Formats an instant from one of Spark's reports."""
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return instant(round(moment.timestamp() * 1000) * 1000)


def _clock() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
