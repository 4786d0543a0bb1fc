"""`CumulateWindow`: windows that grow from a common begin, as CUMULATE of Flink SQL."""

from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.errors import ModelError
from muntin.model.time import format_duration, parse_duration
from muntin.model.windows.window import Duration, Window

# Columns of the views.
GROWN = "_muntin_window"
_BEGIN, _END = "_muntin_begin", "_muntin_end"


@dataclass(frozen=True, kw_only=True)
class CumulateWindow(Window):
    """`[b, b + k * slide)` for `k = 1, 2, ..., size / slide` and every `b ≡ offset (mod size)`.

    Ends are those of a window of the same size and slide, of which everything before `b` is cut
    off. An interval is known by where that window begins, as if it were not cut:

    ```
    0              8              16
    [---)                                 b = 0, slide 4: a = -4
    [-------)                             a = 0
                   [---)                  b = 8: a = 4
                   [-------)              a = 8
    ```
    """

    grows: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
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
    def begin_period(self) -> int:
        """The size: a new interval begins when the last one has reached it."""
        return self.size

    @property
    def shortest(self) -> int:
        """The slide: an interval grows by it, and begins with it."""
        return self.slide

    @property
    def overlap(self) -> float:
        """The average number of intervals that hold an instant."""
        return (self.size // self.slide + 1) / 2

    def begin_of(self, a: Any) -> Any:
        """Returns where intervals begin: at the last common begin before their last step."""
        step = a + self.size - self.slide
        return step - (step - self.offset) % self.size

    def first_begun_from(self, instant: int) -> int:
        """Returns the `a` of the first interval that begins at or after an instant."""
        return instant + (self.offset - instant) % self.size + self.slide - self.size

    def covers(self, other: Window) -> bool:
        """Whether it is the same: intervals that begin together make up no others."""
        return self == other

    def __str__(self) -> str:
        text = f"{format_duration(self.size)} growing every {format_duration(self.slide)}"
        return text + (f" at {format_duration(self.offset)}" if self.offset else "")

    def views(self, time: str) -> tuple[str, str]:
        """Returns Spark SQL that gives each row once for every interval that holds it: what stands
        behind the relation, and a condition on it. The interval is the column `GROWN`.

        Spark's own windows tell the begin and the ends, so they have the type of the time.
        """
        size, slide, offset = (
            f"'{micros} microseconds'" for micros in (self.size, self.slide, self.offset)
        )
        ends = f"window({time}, {size}, {slide}, '{self.offset % self.slide} microseconds')"
        begin = f"window({time}, {size}, {size}, {offset})"
        interval = f"named_struct('start', {_BEGIN}.start, 'end', {_END}.end)"
        views = [(ends, _END), (begin, _BEGIN), (interval, GROWN)]
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
