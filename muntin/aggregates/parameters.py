"""Parameters of aggregates: constants of a call that say what is computed, not of what."""

import re
from collections.abc import Sequence
from typing import Any

from muntin.aggregates.table import DELIMITER, ORDER
from muntin.errors import ModelError
from muntin.sql_text import literal

_NUMBER = r"[+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# A number in Spark SQL: it may have a suffix that says its type.
_PERCENTAGE = re.compile(rf"\s*({_NUMBER})(?:[dD]|[bB][dD])?\s*")
_LIST = re.compile(r"\s*array\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
# Parameters that Spark takes as doubles alone.
_DOUBLES = ("eps", "confidence")
_ORDERS = ("ASC", "DESC")


def parameter(name: str, value: Any) -> str:
    """Returns a parameter that was given in Python as Spark SQL.

    >>> parameter("percentage", [0.5, 0.95]), parameter("delimiter", "-")
    ('array(0.5, 0.95)', "'-'")
    """
    if name == DELIMITER:
        return _delimiter(value)
    if name in _DOUBLES and isinstance(value, float):
        return f"{value!r}D"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"array({', '.join(map(repr, value))})"
    return value if isinstance(value, str) else repr(value)


def _delimiter(value: Any) -> str:
    """Returns the delimiter of a text as a literal: text, bytes, or null."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if not isinstance(value, str):
        raise ModelError(f"a delimiter is text or bytes, not {value!r}")
    return literal(value)


def percentages(text: str) -> tuple[float, ...] | float:
    """Returns the percentages that a constant of Spark SQL stands for; raises `ModelError` if it is
    neither a number nor an array of numbers.

    >>> percentages("0.5D"), percentages("array(0.25, .5)")
    (0.5, (0.25, 0.5))
    """
    many = _LIST.fullmatch(text)
    texts = [text] if many is None else many[1].split(",")
    found = tuple(map(_percentage, texts))
    return found if many is not None else found[0]


def _percentage(text: str) -> float:
    number = _PERCENTAGE.fullmatch(text)
    if number is None or not 0 <= float(number[1]) <= 1:
        raise ModelError(f"a percentage is a number from 0 to 1, or an array of them, not {text!r}")
    return float(number[1])


def check_parameters(function: str, names: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """Returns the parameters of a call, an order that is left out included; raises `ModelError` if
    they are not what the function takes."""
    texts = tuple(given)
    if not texts and names[:1] == (DELIMITER,):
        texts = ("NULL",)
    if names and names[-1] == ORDER and len(texts) == len(names) - 1:
        texts = (*texts, "ASC")
    if len(texts) != len(names):
        wanted = ", ".join(names) or "no parameter"
        raise ModelError(f"{function} takes {wanted} behind its arguments, not {given!r}")
    for name, text in zip(names, texts, strict=True):
        if name == DELIMITER:
            continue
        if name != ORDER:
            percentages(text)
        elif text.upper() not in _ORDERS:
            raise ModelError(f"the order of {function} is ASC or DESC, not {text!r}")
    return tuple(
        text.upper() if name == ORDER else text for name, text in zip(names, texts, strict=True)
    )


def check_optional(function: str, names: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """Returns the parameters of a call that may leave out some; raises `ModelError` if there are
    more than the function takes."""
    if len(given) > len(names):
        wanted = ", ".join(names) or "no parameter"
        raise ModelError(f"{function} takes {wanted} behind its arguments, not {given!r}")
    return tuple(given)
