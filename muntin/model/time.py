"""Parses durations such as '10 minutes' into microseconds, and formats them, as Spark does."""

import re
from datetime import timedelta
from decimal import Decimal

from muntin.errors import ModelError

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

UNITS = {
    "week": WEEK,
    "day": DAY,
    "hour": HOUR,
    "minute": MINUTE,
    "second": SECOND,
    "millisecond": MILLISECOND,
    "microsecond": MICROSECOND,
}

_PART = re.compile(r"\s*([+-]?)\s*(\d+)(\.\d{1,9})?\s+([a-z]+)(?=\s|$)")


def parse_duration(value: str | int | timedelta) -> int:
    """Returns the microseconds of a duration: text with units, a `timedelta`, or zero.

    >>> parse_duration("1 minute 30 seconds")
    90000000
    """
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if not isinstance(value, str):
        if value == 0 and not isinstance(value, bool):
            return 0
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        hint = f": write '{value} seconds'" if is_number else ""
        raise ModelError(f"a duration is text with a unit or a timedelta, not {value!r}{hint}")
    text = value.strip().lower().removeprefix("interval ")
    total, position = 0, 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            break
        sign, whole, fraction, word = part.groups()
        unit = UNITS.get(word.removesuffix("s") if word != "s" else word)
        if unit is None or (fraction and unit != SECOND):
            break
        # Spark keeps six digits of a fraction of a second and drops the rest.
        amount = int(whole) * unit + int(Decimal(fraction or "0") * unit)
        total += -amount if sign == "-" else amount
        position = part.end()
    if not text or position < len(text.rstrip()):
        units = ", ".join(f"{unit}s" for unit in UNITS)
        raise ModelError(
            f"{value!r} is not a duration; write a number and a unit, such as '10 minutes' "
            f"(units: {units}; months and years have no fixed length)"
        )
    return total


def calendar_days(value: str | int | timedelta) -> int:
    """Returns how many days of a duration are written as days or weeks.

    Added to an instant, Spark takes these for days of the calendar, as long as the time zone has
    them. Hours, microseconds and a `timedelta` have one length everywhere.

    >>> calendar_days("1 week 24 hours")
    7
    """
    if not isinstance(value, str):
        return 0
    days = 0
    for sign, whole, _, word in _PART.findall(value.lower().removeprefix("interval ")):
        unit = UNITS[word.removesuffix("s")]
        days += int(f"{sign}{whole}") * (unit // DAY)
    return days


def format_duration(micros: int) -> str:
    """Returns the shortest exact spelling of a duration; `parse_duration` reads it back.

    >>> format_duration(90_000_000)
    '1 minute 30 seconds'
    """
    if micros == 0:
        return "0 seconds"
    for name, unit in UNITS.items():
        # One unit where one will do: '90 minutes', '36 hours', but '1 day', not '24 hours'.
        if micros % unit == 0 and (abs(micros) >= unit) and abs(micros) // unit < 1000:
            amount = micros // unit
            return f"{amount} {name}{'' if abs(amount) == 1 else 's'}"
    parts = []
    rest = abs(micros)
    for name, unit in UNITS.items():
        amount, rest = divmod(rest, unit)
        if amount:
            parts.append(f"{'-' if micros < 0 else ''}{amount} {name}{'' if amount == 1 else 's'}")
    return " ".join(parts)
