"""Data windows: where they begin and end is known only when their records arrive.

Each is over the records of one key in event-time order. A window holds the records from the one
that it begins with up to the one that it ends before. A window still open at the end of the data is
returned with the records it has, as in Spark.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muntin.errors import ModelError
from muntin.model.time import DAY, calendar_days, format_duration, parse_duration
from muntin.model.windows import Duration, Window


@dataclass(frozen=True)
class DataWindow:
    """The base of all data windows (Cutty, section 3)."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that it evaluates on each record, as Spark SQL."""
        return ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The growing numbers that it reads from each record, as Spark SQL."""
        return ()


@dataclass(frozen=True)
class Session(DataWindow):
    """Records that each follow the previous one within `gap` microseconds.

    `days` is how many days of the gap are calendar days; `gap` counts 24 hours for each.
    Where they may be shorter or longer, Spark alone finds the sessions; elsewhere nothing depends
    on it, so it makes no window another one.
    """

    gap: int
    days: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not self.gap > 0:
            raise ModelError(f"a session's gap must be above zero, not {format_duration(self.gap)}")

    @property
    def gap_sql(self) -> str:
        """The gap as Spark reads it."""
        rest = f"{self.gap - self.days * DAY} microseconds"
        return f"{self.days} days {rest}" if self.days else rest

    def __str__(self) -> str:
        return f"sessions, {format_duration(self.gap)} apart"


@dataclass(frozen=True)
class CountWindow(DataWindow):
    """Rows `[k * slide, k * slide + size)` of a key, counted from zero."""

    size: int
    slide: int

    def __post_init__(self) -> None:
        for name, value in (("size", self.size), ("every", self.slide)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise ModelError(f"a count window's {name} is a number of rows, not {value!r}")
        _check_period("count window", self.size, self.slide)

    def __str__(self) -> str:
        every = "" if self.slide == self.size else f" every {self.slide:,}"
        return f"{self.size:,} rows{every}"


@dataclass(frozen=True)
class Delta(DataWindow):
    """`[a, a + size)` for every multiple `a` of `slide`, in a measure that grows with time.

    A value below the highest so far, or null, counts as the highest so far.
    """

    column: str
    size: float
    slide: float

    def __post_init__(self) -> None:
        _check_text("delta", "column", self.column)
        for name, value in (("size", self.size), ("every", self.slide)):
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ModelError(f"a delta window's {name} is a number, not {value!r}")
        _check_period("delta window", self.size, self.slide)

    @property
    def measures(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def __str__(self) -> str:
        every = "" if self.slide == self.size else f" every {self.slide:,}"
        return f"{self.size:,} of {self.column}{every}"


@dataclass(frozen=True)
class Punctuation(DataWindow):
    """From each record where a condition holds up to the next."""

    condition: str

    def __post_init__(self) -> None:
        _check_text("punctuation", "condition", self.condition)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition."""
        return (self.condition,)

    def __str__(self) -> str:
        return f"from {self.condition} to the next"


@dataclass(frozen=True)
class Landmark(DataWindow):
    """From each record where `begin` holds up to the next where `end` holds, or for a duration.

    `end` is a condition or microseconds.
    """

    begin: str
    end: str | int

    def __post_init__(self) -> None:
        _check_text("landmark", "begin", self.begin)
        if isinstance(self.end, str):
            _check_text("landmark", "end", self.end)
        elif not self.end > 0:
            raise ModelError(
                f"a landmark window must last longer than zero, not {format_duration(self.end)}"
            )

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition `begin`, and `end` if it is a condition."""
        return (self.begin, self.end) if isinstance(self.end, str) else (self.begin,)

    def __str__(self) -> str:
        if isinstance(self.end, str):
            return f"from {self.begin} to {self.end}"
        return f"{format_duration(self.end)} from {self.begin}"


@dataclass(frozen=True)
class Threshold(DataWindow):
    """Periodic, with a period that depends on the last record (Cutty, figure 1).

    It consists of the windows of `inside` whose last record meets the condition, and the windows of
    `outside` whose last record does not.
    """

    condition: str
    inside: Window
    outside: Window

    def __post_init__(self) -> None:
        _check_text("threshold", "condition", self.condition)
        for name, window in (("inside", self.inside), ("outside", self.outside)):
            if type(window) is not Window:
                raise ModelError(
                    f"a threshold's {name} is made by tumbling or hopping, not {window!r}"
                )

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition."""
        return (self.condition,)

    def __str__(self) -> str:
        return f"{self.inside} while {self.condition}, else {self.outside}"


@dataclass(frozen=True)
class Custom(DataWindow):
    """A window found by the user's own class, which gets each record of a key in order.

    `make` returns a new instance, one for each key. `columns` are names and Spark SQL of what it
    sees of a record, in addition to its `time`.
    """

    make: Callable[[], Any]
    columns: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise ModelError(f"a custom window is made by a class, not {self.make!r}")
        try:
            made = self.make()
        except Exception as error:
            raise ModelError(f"{self.name} cannot be made without arguments: {error}") from error
        counts, acts = hasattr(made, "f_disc"), hasattr(made, "trigger") and hasattr(made, "evict")
        if counts == acts:
            raise ModelError(
                f"{self.name} needs f_disc(record), or trigger(record) and evict(record, held)"
                + (", not both" if counts else "")
            )
        for name, sql in self.columns:
            if not isinstance(name, str) or not name.isidentifier() or name == "time":
                raise ModelError(
                    f"{self.name}: a column's name must be an identifier other than 'time', "
                    f"not {name!r}"
                )
            _check_text("custom", name, sql)

    @property
    def name(self) -> str:
        """The name of the class."""
        return getattr(self.make, "__name__", repr(self.make))

    @property
    def full_name(self) -> str | None:
        """The name of the class with its module, by which a checkpoint identifies it, or None."""
        name = getattr(self.make, "__qualname__", None)
        return None if name is None or "<lambda>" in name else f"{self.make.__module__}.{name}"

    @property
    def is_deterministic(self) -> bool:
        """Whether it knows, when a record arrives, how many windows begin with it."""
        return hasattr(self.make, "f_disc") or hasattr(self.make(), "f_disc")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Absent(DataWindow):
    """A custom window read from JSON, which has only its name; it can be shown, not run."""

    name: str
    columns: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name.rpartition(".")[2]


def session(gap: Duration) -> Session:
    """Sessions, as Spark's `session_window`: `session("5 minutes")`."""
    return Session(parse_duration(gap), calendar_days(gap))


def punctuation(condition: str) -> Punctuation:
    """Windows from one record that meets a condition to the next: `punctuation("state = 'on'")`."""
    return Punctuation(condition)


def count_window(size: int, every: int | None = None) -> CountWindow:
    """Windows of `size` rows of a key, in event-time order: `count_window(100, every=10)`."""
    return CountWindow(size, size if every is None else every)


def delta(column: str, size: float, every: float | None = None) -> Delta:
    """Windows over a growing column: `delta("mileage", 10, every=5)`."""
    return Delta(column, size, size if every is None else every)


def landmark(begin: str, end: Duration) -> Landmark:
    """Windows from each record where `begin` holds, to the next where `end` holds or for a time.

    `landmark("event = 'login'", end="event = 'logout'")`, `landmark("alarm", end="5 minutes")`.
    """
    try:
        lasts = parse_duration(end)
    except ModelError:
        if not isinstance(end, str):
            raise
        return Landmark(begin, end)
    return Landmark(begin, lasts)


def threshold(condition: str, *, inside: Window, outside: Window) -> Threshold:
    """Periodic windows: `inside` while a condition holds, `outside` while it does not."""
    return Threshold(condition, inside, outside)


def custom(make: Callable[[], Any], columns: Mapping[str, str] | Iterable[str] = ()) -> Custom:
    """Windows that a class of yours finds; it sees `columns` of each record, and its `time`.

    `f_disc(record)` returns how many windows begin with the record and how many end before it.
    Instead, a class may have `trigger(record)`, which returns whether the records held so far are a
    window, and `evict(record, held)`, which returns how many of the oldest then leave. Both are
    called before the record is added.
    """
    if isinstance(columns, str):
        raise ModelError(f"a custom window's columns are a list of columns, not {columns!r}")
    if not isinstance(columns, Mapping):
        columns = {column: column for column in columns}
    return Custom(make, tuple(columns.items()))


def _check_period(what: str, size: float, slide: float) -> None:
    if not size > 0:
        raise ModelError(f"a {what}'s size must be above zero, not {size}")
    if not 0 < slide <= size:
        raise ModelError(f"a {what}'s every must be above zero and at most {size}, not {slide}")


def _check_text(what: str, name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ModelError(f"a {what} window's {name} is Spark SQL, not {value!r}")
