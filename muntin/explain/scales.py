"""The two scales of a picture, the same for all its rows, so that rows compare down the page."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log, log10

from muntin.explain import words
from muntin.explain.rows import Row
from muntin.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, format_duration

# Round durations, those that say most first.
_ROUND = (
    (SECOND, MINUTE, HOUR, DAY),
    (MILLISECOND, WEEK, 10 * SECOND, 10 * MINUTE, 6 * HOUR),
    (1, 100 * MILLISECOND, 30 * SECOND, 30 * MINUTE, 12 * HOUR, 4 * WEEK, 52 * WEEK),
    tuple(count * unit for unit in (SECOND, MINUTE, HOUR, DAY) for count in (2, 5, 15, 20)),
)
_UNITS = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "wk"}
_APART = 40.0


@dataclass(frozen=True, kw_only=True)
class TimeScale:
    """A logarithmic scale of durations."""

    low: float
    high: float
    width: float

    @staticmethod
    def of(rows: Iterable[Row], width: float) -> "TimeScale":
        """From the shortest slide to the longest size, and a little on both sides."""
        windows = [row.periodic for row in rows if row.periodic is not None]
        low = min((window.slide for window in windows), default=SECOND)
        high = max((window.size for window in windows), default=SECOND)
        return TimeScale(low=low / 1.6, high=high * 1.6, width=width)

    def at(self, micros: float) -> float:
        """Returns the place of a duration, in pixels from the left."""
        return self.width * log(micros / self.low) / log(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Returns the places and names of round durations, as many as can be read."""
        taken: list[int] = []
        for durations in _ROUND:
            for duration in durations:
                inside = self.low <= duration <= self.high
                if inside and all(
                    abs(self.at(duration) - self.at(tick)) >= _APART for tick in taken
                ):
                    taken.append(duration)
        return [(self.at(duration), _short(duration)) for duration in sorted(taken)]


@dataclass(frozen=True, kw_only=True)
class CostScale:
    """A linear scale of costs, from zero."""

    most: float
    width: float

    @staticmethod
    def of(costs: Iterable[float], width: float) -> "CostScale":
        """Up to the largest of some costs."""
        return CostScale(most=max(costs, default=0.0), width=width)

    def at(self, cost: float) -> float:
        """Returns the length of a bar; a cost above zero is always visible."""
        if cost <= 0 or self.most <= 0:
            return 0.0
        return max(1.5, self.width * cost / self.most)

    def ticks(self) -> list[tuple[float, str]]:
        """Returns the places and plain numbers of round costs, from zero on."""
        if self.most <= 0:
            return [(0.0, "0")]
        least = self.most * _APART / self.width
        power = 10.0 ** floor(log10(least))
        step = next(power * digit for digit in (1, 2, 5, 10, 20) if power * digit >= least)
        count = ceil(self.most / step * (1 - 1e-9))
        costs = [step * number for number in range(count + 1) if step * number <= self.most]
        return [(self.width * cost / self.most, words.amount(cost)) for cost in costs]


def _short(duration: int) -> str:
    """Abbreviates a duration's unit."""
    number, unit = format_duration(duration).split(" ", 1)
    return f"{number} {_UNITS.get(unit.removesuffix('s'), unit.replace('milliseconds', 'ms'))}"
