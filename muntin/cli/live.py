"""Shows the status of a pipeline while it runs: a table on a terminal, lines in a pipe."""

from datetime import UTC, datetime

from rich.box import SIMPLE
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from muntin.spark.pipeline.status import Status

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
