"""`Window`, periodic in event time, and the relations between two of them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from muntin.errors import ModelError
from muntin.model.time import format_duration, parse_duration

Duration = str | int | timedelta

# The most combines per interval read by a queue for any aggregate (two stacks), and the cost of
# finding one interval among many, in combines; measured on float64.
QUEUE = 3.0
SEARCH = 8.0


@dataclass(frozen=True, kw_only=True)
class Window:
    """`[a, a + size)` for every `a ≡ offset (mod slide)`; all in microseconds.

    An interval is known by `a`, its end less the size. That is its begin, unless the window grows
    (`CumulateWindow`): then the interval begins where `begin_of(a)` says.
    """

    # Whether intervals grow from a common begin.
    grows: ClassVar[bool] = False

    size: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "offset", self.offset % self.begin_period)

    def _check(self) -> None:
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

    def __lt__(self, other: "Window") -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[int, int, int, bool]:
        return self.size, self.slide, self.offset, self.grows

    @property
    def is_tumbling(self) -> bool:
        """Whether every instant is in exactly one interval."""
        return self.size == self.slide

    @property
    def begin_period(self) -> int:
        """The time from the begin of an interval to the next other begin."""
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

    def first_begun_from(self, instant: int) -> int:
        """Returns the `a` of the first interval that begins at or after an instant."""
        return self.first_after(instant - 1)

    def begin_of(self, a: Any) -> Any:
        """Returns where intervals begin: of one `a`, or of an array of them."""
        return a

    def last_end(self, instant: Any) -> Any:
        """Returns the end of the last interval that holds an instant, or each of an array."""
        return instant - (instant - self.offset) % self.begin_period + self.size

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
        """Returns how many intervals of this window lie inside one of `other`, which it covers: in
        the longest, if they differ.

        Factor Windows, equation for the covering multiplier: `1 + (r1 - r2) / s2`.
        """
        if not self.covers(other):
            raise ModelError(f"{self} does not cover {other}")
        return 1 + (other.size - self.size) // self.slide

    def reads(self, other: "Window") -> tuple[int, ...]:
        """Returns where the fewest intervals that fill one of `other` begin, relative to its begin.

        These may overlap, so they serve idempotent aggregates only. Of a tumbling window, all
        intervals are needed.
        """
        if not self.covers(other):
            raise ModelError(f"{self} does not cover {other}")
        last = other.size - self.size
        step = self.size // self.slide * self.slide
        return (*range(0, last, step), last)

    def fewest(self, other: "Window") -> int:
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
        read = min(QUEUE, self.multiplier(other) * self.slide / other.slide)
        return SEARCH * self.fewest(other) < read * other.slide / self.slide

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
