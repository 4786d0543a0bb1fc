"""Reads bounds on the distance of two times, such as `b.ts <= a.ts + INTERVAL 1 HOUR`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot.errors import TokenError

from muntin.errors import ModelError
from muntin.model.time import DAY, parse_duration
from muntin.sql.filters import is_reference
from muntin.sql.tokens import Span, render, tokenize
from muntin.sql_text import name_parts

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPERATORS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
# Offsets from UTC differ by up to 36 hours, and a cast to a date removes up to 24.
_CLEARLY_APART = 3 * DAY


@dataclass(frozen=True, kw_only=True)
class TimeBound:
    """`later <operator> earlier + interval`, or `later - earlier <operator> interval`.

    The two forms differ, because Spark adds whole days on the wall clock. Without an interval it is
    `later <operator> earlier`.
    """

    later: str
    earlier: str
    operator: str
    is_difference: bool
    # As written, with its sign; None if the times themselves are compared.
    interval: str | None = None
    micros: int = 0

    @property
    def side(self) -> tuple[object, ...]:
        """The two times, the form and the direction. Bounds with one side can be compared."""
        names = (tuple(name_parts(self.later)), tuple(name_parts(self.earlier)))
        return (*names, self.is_difference, self.operator[0])

    @property
    def times(self) -> frozenset[str]:
        """The two times, in no order."""
        return frozenset((self.later, self.earlier))

    @property
    def looseness(self) -> int:
        """Microseconds that are larger for a bound that more pairs pass."""
        return self.micros if self.operator[0] == "<" else -self.micros

    def flip(self) -> "TimeBound":
        """Returns a bound without an interval with its times in the other order."""
        assert self.interval is None
        return replace(
            self, later=self.earlier, earlier=self.later, operator=_FLIPPED[self.operator]
        )

    def covers(self, other: "TimeBound") -> bool:
        """Whether everything that passes another bound of the same side passes this one.

        That holds for times of any type, also text, and in every time zone. When clocks go
        forward, the same time on the next day is less than 23.5 hours later.
        """
        if (self.interval is None) != (other.interval is None):
            return False
        if self.micros == other.micros and self._unit == other._unit:
            return "=" in self.operator or self.operator == other.operator
        if self.is_difference:
            at_least = "=" in self.operator or self.operator == other.operator
            return self.looseness > other.looseness - at_least
        return self.looseness - other.looseness >= _CLEARLY_APART

    @property
    def _unit(self) -> tuple[str, ...]:
        """The units of the interval: a date plus 24 hours is a timestamp, plus one day a date."""
        words = (self.interval or "").lower().replace("'", " ").split()
        return tuple(word.removesuffix("s") for word in words if word.isalpha())

    def to_sql(self) -> str:
        """Returns the bound as a condition in Spark SQL."""
        if self.interval is None:
            return f"{self.later} {self.operator} {self.earlier}"
        if self.is_difference:
            return f"{self.later} - {self.earlier} {self.operator} {self.interval}"
        sign = "" if self.interval.startswith("-") else "+ "
        return f"{self.later} {self.operator} {self.earlier} {sign}{self.interval}"


def read_bounds(condition: str) -> tuple[TimeBound, ...]:
    """Returns the bounds that a condition consists of; empty for any other condition.

    BETWEEN is two bounds. Intervals are literals of a fixed length, not months or years.

    >>> [bound.to_sql() for bound in read_bounds("b.t BETWEEN a.t AND a.t + INTERVAL 1 HOUR")]
    ['b.t >= a.t', 'b.t <= a.t + INTERVAL 1 HOUR']
    """
    try:
        tokens = tokenize(condition).strip_parentheses()
    except TokenError:
        return ()
    operators = tokens.find_top_level(*_OPERATORS, "BETWEEN")
    if len(operators) != 1 or tokens.find_top_level("NOT", "OR"):
        return ()
    place = operators[0]
    left, right = tokens[:place], tokens[place + 1 :]
    if tokens[place].kind != "BETWEEN":
        bound = _bound(condition, left, _OPERATORS[tokens[place].kind], right)
        return (bound,) if bound else ()
    ands = right.find_top_level("AND")
    if len(ands) != 1:
        return ()
    low = _bound(condition, left, ">=", right[: ands[0]])
    high = _bound(condition, left, "<=", right[ands[0] + 1 :])
    return (low, high) if low and high else ()


def orient_bounds(bounds: Sequence[TimeBound]) -> list[TimeBound]:
    """Returns the bounds; those without an interval have their times in the order of the others."""
    orders = {(bound.later, bound.earlier) for bound in bounds if bound.interval is not None}
    return [
        bound
        if bound.interval is not None or (bound.later, bound.earlier) in orders
        else bound.flip()
        for bound in bounds
    ]


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One side of a comparison: times, and an interval if there is one."""

    times: tuple[str, ...] = ()
    interval: str | None = None
    micros: int = 0


def _bound(text: str, left: Span, operator: str, right: Span) -> TimeBound | None:
    first, second = _side(text, left), _side(text, right)
    if first is None or second is None:
        return None
    if len(first.times) < len(second.times) or (first.interval and second.times):
        first, second, operator = second, first, _FLIPPED[operator]
    if first.interval is not None or len({*first.times, *second.times}) != 2:
        return None
    is_difference = len(first.times) == 2
    if is_difference == bool(second.times):
        return None
    later, earlier = (*first.times, *second.times)
    return TimeBound(
        later=later,
        earlier=earlier,
        operator=operator,
        is_difference=is_difference,
        interval=second.interval,
        micros=second.micros,
    )


def _side(text: str, tokens: Span) -> _Side | None:
    """Reads a time, a time and an interval, a difference of times, or an interval."""
    tokens = tokens.strip_parentheses()
    alone = _interval(text, tokens)
    if alone is not None:
        return alone
    signs = tokens.find_top_level("PLUS", "DASH")
    time = render(text, tokens[: signs[0]] if signs else tokens)
    if not is_reference(time):
        return None
    time = render(time, tokenize(time).strip_parentheses())
    if not signs:
        return _Side(times=(time,))
    rest = tokens[signs[0] + 1 :].strip_parentheses()
    is_minus = tokens[signs[0]].kind == "DASH"
    other = render(text, rest)
    if is_minus and is_reference(other):
        return _Side(times=(time, other))
    shift = _interval(text, rest)
    if shift is None or rest.kind_at(0) != "INTERVAL":
        return None
    if is_minus:
        return _Side(times=(time,), interval=f"- {shift.interval}", micros=-shift.micros)
    return replace(shift, times=(time,))


def _interval(text: str, tokens: Span) -> _Side | None:
    """Reads an interval literal of a fixed length, with or without a minus."""
    is_minus = tokens.kind_at(0) == "DASH"
    words = tokens[2:] if is_minus else tokens[1:]
    if tokens.kind_at(int(is_minus)) != "INTERVAL" or not words:
        return None
    if words.kind_at(0) not in {"STRING", "NUMBER", "DASH", "PLUS"}:
        return None
    try:
        micros = parse_duration(" ".join(token.name.strip("'") for token in words))
    except ModelError:
        return None
    return _Side(interval=render(text, tokens), micros=-micros if is_minus else micros)
