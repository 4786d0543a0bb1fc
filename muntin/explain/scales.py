"""The two scales of a picture. All trees share them, so that rows can be compared down the page."""

from dataclasses import dataclass
from math import floor, log, log10

from muntin.explain import words
from muntin.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, format_duration

# Round durations; the first ones make the best ticks.
_ROUND_DURATIONS = (
    *(SECOND, MINUTE, HOUR, DAY, MILLISECOND, WEEK, 10 * SECOND, 10 * MINUTE, 6 * HOUR, 1),
    *(100 * MILLISECOND, 30 * SECOND, 30 * MINUTE, 12 * HOUR, 4 * WEEK, 52 * WEEK),
    *(count * unit for unit in (SECOND, MINUTE, HOUR, DAY) for count in (2, 5, 15, 20)),
)
_UNITS = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "wk"}
# Pixels between two ticks.
_SPACING = 40.0


@dataclass(frozen=True, kw_only=True)
class TimeScale:
    """A logarithmic scale of durations from `low` to `high` over `width` pixels."""

    low: float
    high: float
    width: float

    def at(self, micros: float) -> float:
        """Returns the position of a duration."""
        return self.width * log(micros / self.low) / log(self.high / self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Returns positions and labels of round durations, as many as are readable."""
        chosen: dict[float, str] = {}
        for duration in _ROUND_DURATIONS:
            if self.low <= duration <= self.high:
                place = self.at(duration)
                if all(abs(place - other) >= _SPACING for other in chosen):
                    chosen[place] = _short_duration(duration)
        return sorted(chosen.items())


@dataclass(frozen=True, kw_only=True)
class CostScale:
    """A linear scale of costs from zero to `most` over `width` pixels."""

    most: float
    width: float

    def at(self, cost: float) -> float:
        """Returns the length of a bar. A positive cost is always visible."""
        return max(1.5, self.width * cost / self.most) if cost > 0 and self.most > 0 else 0.0

    def ticks(self) -> list[tuple[float, str]]:
        """Returns positions and labels of round costs, from zero on."""
        if self.most <= 0:
            return [(0.0, "0")]
        least = self.most * _SPACING / self.width
        power = 10.0 ** floor(log10(least))
        step = next(power * digit for digit in (1, 2, 5, 10, 20) if power * digit >= least)
        costs = [step * place for place in range(int(self.most / step) + 1)]
        return [(self.width * cost / self.most, words.amount(cost)) for cost in costs]


def _short_duration(duration: int) -> str:
    value, unit = format_duration(duration).split(" ", 1)
    return f"{value} {_UNITS.get(unit.removesuffix('s'), unit.replace('milliseconds', 'ms'))}"
