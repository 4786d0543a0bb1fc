"""Periodic windows, the relations between two of them, and slicings: where a stream is cut.

`Window` is tumbling or hopping. `CumulateWindow` grows from a common begin, as CUMULATE of Flink
SQL does. A `Slicing` is a union of arithmetic progressions of edges.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from muntin.errors import ModelError
from muntin.model.time import format_duration, parse_duration

Duration = str | int | timedelta

# The most combines per interval read by a queue for any aggregate (two stacks), and the cost of
# finding one interval among many, in combines; measured on float64.
QUEUE_COMBINES = 3.0
SEARCH_COMBINES = 8.0
# Columns of the views that copy each row into the intervals of a cumulating window.
INTERVAL_COLUMN = "_muntin_window"
_BEGIN, _END = "_muntin_begin", "_muntin_end"


@dataclass(frozen=True, kw_only=True)
class Window:
    """`[a, a + size)` for every `a ≡ offset (mod slide)`; all in microseconds.

    `a` identifies an interval: it is the end of the interval minus the size. That is also its
    start, except in a `CumulateWindow`, whose intervals start at `start_of(a)`.
    """

    # Whether several intervals of different sizes have one start.
    grows: ClassVar[bool] = False

    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        for name in ("size", "slide", "offset"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise ModelError(f"a window's {name} is microseconds as an integer, not {value!r}")
        if self.size <= 0:
            raise ModelError(
                f"a window's size must be above zero, not {format_duration(self.size)}"
            )
        if not 0 < self.slide <= self.size:
            raise ModelError(
                f"a window's slide must be above zero and at most its size "
                f"({format_duration(self.size)}), not {format_duration(self.slide)}"
            )
        object.__setattr__(self, "offset", self.offset % self.start_period)

    def __lt__(self, other: "Window") -> bool:
        mine = (self.size, self.slide, self.offset, self.grows)
        return mine < (other.size, other.slide, other.offset, other.grows)

    @property
    def is_tumbling(self) -> bool:
        """Whether every instant is in exactly one interval."""
        return self.size == self.slide

    @property
    def start_period(self) -> int:
        """The time from one start of intervals to the next."""
        return self.slide

    @property
    def shortest(self) -> int:
        """The size of the shortest interval."""
        return self.size

    @property
    def overlap(self) -> float:
        """The average number of intervals that hold an instant."""
        return self.size / self.slide

    def first_after(self, instant: int) -> int:
        """Returns the first `a` of an interval that is after `instant`."""
        return instant + 1 + (self.offset - instant - 1) % self.slide

    def first_starting_from(self, instant: int) -> int:
        """Returns the `a` of the first interval that starts at or after an instant."""
        return self.first_after(instant - 1)

    def start_of(self, a: Any) -> Any:
        """Returns the start of the interval `a`, or of each interval of an array."""
        return a

    def last_end(self, instant: Any) -> Any:
        """Returns the end of the last interval that holds an instant, or each of an array."""
        return instant - (instant - self.offset) % self.start_period + self.size

    def covers(self, other: "Window") -> bool:
        """Whether every interval of `other` is a union of intervals of this one.

        Factor Windows, theorem 1, with offsets: every begin and every end of `other` is one here.
        A window covers itself.
        """
        return (
            other.slide % self.slide == 0
            and (other.shortest - self.size) % self.slide == 0
            and (other.offset - self.offset) % self.slide == 0
            and other.shortest >= self.size
        )

    def partitions(self, other: "Window") -> bool:
        """Whether every interval of `other` is a union of *disjoint* intervals of this one.

        Factor Windows, theorem 4: this window is tumbling and covers `other`. A window of the same
        size that covers `other` partitions it too: one interval is then enough.
        """
        return (self.is_tumbling or self.size == other.size) and self.covers(other)

    def multiplier(self, other: "Window") -> int:
        """Returns how many intervals of this window lie inside the longest one of `other`, which it
        covers.

        Factor Windows, equation for the covering multiplier: `1 + (r1 - r2) / s2`.
        """
        if not self.covers(other):
            raise ModelError(f"{self} does not cover {other}")
        return 1 + (other.size - self.size) // self.slide

    def fewest_starts(self, other: "Window") -> tuple[int, ...]:
        """Returns the starts of the fewest intervals that fill one of `other`, from its start on.

        These may overlap, so they serve idempotent aggregates only. Of a tumbling window, all
        intervals are needed.
        """
        if not self.covers(other):
            raise ModelError(f"{self} does not cover {other}")
        last = other.size - self.size
        step = self.size // self.slide * self.slide
        return (*range(0, last, step), last)

    def fewest_count(self, other: "Window") -> int:
        """Returns how many intervals `reads` returns: at most the multiplier of theorem 3."""
        step = self.size // self.slide * self.slide
        return 1 - (self.size - other.size) // step

    def is_worth_picking_for(self, other: "Window") -> bool:
        """Whether finding the fewest intervals that fill `other` is cheaper than reading all.

        A search costs as much as several combines, so it pays only where the intervals of this
        window overlap much and those of `other` do not.
        """
        if other.grows:
            return False
        read = min(QUEUE_COMBINES, self.multiplier(other) * self.slide / other.slide)
        return SEARCH_COMBINES * self.fewest_count(other) < read * other.slide / self.slide

    def __str__(self) -> str:
        text = format_duration(self.size)
        if not self.is_tumbling:
            text += f" every {format_duration(self.slide)}"
        if self.offset:
            text += f" at {format_duration(self.offset)}"
        return text


def tumbling(size: Duration, *, offset: Duration = 0) -> Window:
    """Back-to-back windows: `tumbling("1 minute")`."""
    return hopping(size, every=size, offset=offset)


def hopping(size: Duration, *, every: Duration, offset: Duration = 0) -> Window:
    """Overlapping windows: `hopping("24 hours", every="10 minutes")`."""
    return Window(
        size=parse_duration(size), slide=parse_duration(every), offset=parse_duration(offset)
    )


@dataclass(frozen=True, kw_only=True)
class CumulateWindow(Window):
    """`[b, b + k * slide)` for `k = 1, 2, ..., size / slide` and every `b ≡ offset (mod size)`.

    Each interval is the part from `b` on of an interval of the hopping window of the same size and
    slide. `a` is the start of that interval of the hopping window:

    ```
    0              8              16
    [---)                                 b = 0, slide 4: a = -4
    [-------)                             a = 0
                   [---)                  b = 8: a = 4
                   [-------)              a = 8
    ```
    """

    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size == self.slide or self.size % self.slide:
            raise ModelError(
                f"a window that grows to {format_duration(self.size)} grows by a part of it that "
                f"fits several times, not by {format_duration(self.slide)}"
            )

    @property
    def is_tumbling(self) -> bool:
        """Never: an instant at the begin is in all intervals that begin there."""
        return False

    @property
    def start_period(self) -> int:
        """The size: the next start is where the longest interval ends."""
        return self.size

    @property
    def shortest(self) -> int:
        """The slide: the first interval from a start has this size."""
        return self.slide

    @property
    def overlap(self) -> float:
        """The average number of intervals that hold an instant."""
        return (self.size // self.slide + 1) / 2

    def start_of(self, a: Any) -> Any:
        """Returns the start of the interval `a`: the last common start before its last step."""
        step = a + self.size - self.slide
        return step - (step - self.offset) % self.size

    def first_starting_from(self, instant: int) -> int:
        """Returns the `a` of the first interval that begins at or after an instant."""
        return instant + (self.offset - instant) % self.size + self.slide - self.size

    def covers(self, other: Window) -> bool:
        """Whether `other` is the same window: growing intervals cannot fill another window."""
        return self == other

    def __str__(self) -> str:
        text = f"{format_duration(self.size)} growing every {format_duration(self.slide)}"
        return text + (f" at {format_duration(self.offset)}" if self.offset else "")

    def views(self, time: str) -> tuple[str, str]:
        """Returns Spark SQL that copies each row into every interval that holds it: LATERAL VIEWs
        to write after the relation, and a condition. The interval is the column `INTERVAL_COLUMN`.

        Its start and end come from Spark's own `window`, so they have the type of the time.
        """
        size, slide, offset = (
            f"'{micros} microseconds'" for micros in (self.size, self.slide, self.offset)
        )
        ends = f"window({time}, {size}, {slide}, '{self.offset % self.slide} microseconds')"
        begin = f"window({time}, {size}, {size}, {offset})"
        interval = f"named_struct('start', {_BEGIN}.start, 'end', {_END}.end)"
        views = [(ends, _END), (begin, _BEGIN), (interval, INTERVAL_COLUMN)]
        text = "".join(
            f" LATERAL VIEW explode(array({value})) {name} AS {name}" for value, name in views
        )
        return text, f"{_END}.end <= {_BEGIN}.end"


def cumulate(size: Duration, *, every: Duration, offset: Duration = 0) -> Window:
    """Windows that grow from a common begin: `cumulate("1 day", every="1 minute")`."""
    longest, step, shift = (parse_duration(each) for each in (size, every, offset))
    if longest == step:
        return Window(size=longest, slide=step, offset=shift)
    return CumulateWindow(size=longest, slide=step, offset=shift)


@dataclass(frozen=True, kw_only=True, order=True)
class Edges:
    """The instants `t ≡ phase (mod period)`: one arithmetic progression of edges."""

    period: int
    phase: int = 0

    def __post_init__(self) -> None:
        if self.period <= 0:
            raise ModelError(f"edges need a period above zero, not {self.period}")
        object.__setattr__(self, "phase", self.phase % self.period)

    def includes(self, other: "Edges") -> bool:
        """Whether every edge of `other` is one of these."""
        return other.period % self.period == 0 and (other.phase - self.phase) % self.period == 0


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """Where the stream is cut: a union of progressions; one alone means slices of equal width."""

    edges: tuple[Edges, ...]
    # Slices per second of event time.
    rate: float

    def __post_init__(self) -> None:
        if not self.edges:
            raise ModelError("a slicing needs at least one edge")

    @property
    def width(self) -> int | None:
        """The width of the slices, or None if they differ."""
        return self.edges[0].period if len(self.edges) == 1 else None

    @property
    def further_progressions(self) -> int:
        """How many progressions of edges there are beyond the first."""
        return len(self.edges) - 1

    def cuts(self, window: Window) -> bool:
        """Whether every begin and end of `window` is an edge."""
        begins = Edges(period=window.slide, phase=window.offset)
        ends = Edges(period=window.slide, phase=window.offset + window.size)
        return all(any(edges.includes(needed) for edges in self.edges) for needed in (begins, ends))

    def includes(self, other: "Slicing") -> bool:
        """Whether every edge of `other` is one of these."""
        return all(any(edges.includes(needed) for edges in self.edges) for needed in other.edges)

    def edge_from(self, instant: int) -> int:
        """Returns the first edge at or after an instant."""
        return min(instant + (edges.phase - instant) % edges.period for edges in self.edges)
