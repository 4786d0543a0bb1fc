"""Parameters of aggregates: the constants of a call, such as a percentage or an order.

They are Spark SQL. The functions here return their values. They raise a `ModelError` with the
reason if a call is left to Spark, because a constant is no literal or Spark would refuse it.
"""

import re
from collections.abc import Sequence
from functools import cache
from math import ceil, log, log1p
from typing import Any, NamedTuple

from muntin.errors import ModelError
from muntin.sql_text import literal

# The parameter that says whether values are in ascending or descending order, `ASC` or `DESC`.
ORDER = "order"
# The parameter that separates the values of a text; null is an empty text.
DELIMITER = "delimiter"

_NUMBER = r"[+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# A number in Spark SQL: it may have a suffix that says its type.
_PERCENTAGE = re.compile(rf"\s*({_NUMBER})(?:[dD]|[bB][dD])?\s*")
_LIST = re.compile(r"\s*array\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
# Parameters that Spark takes as doubles alone.
_DOUBLES = ("eps", "confidence")
_ORDERS = ("ASC", "DESC")

# The least bits of a register's address in Spark, and the most for which Spark corrects the bias.
LEAST_REGISTER_BITS, MOST_REGISTER_BITS = 4, 18
# The accuracy that Spark takes for a KLL sketch if none is given.
KLL_ACCURACY = 200
# The relative standard deviation that Spark takes if none is given.
_DEVIATION = "0.05"
# The items that `approx_top_k` answers, and those that it may track, unless a call says otherwise.
_TOP, _TRACKED, _MOST_TRACKED = 5, 10_000, 1_000_000
# The bits of a theta or HyperLogLog sketch if none are given.
_SKETCH_BITS = 12

# A literal of Spark's for a decimal or a double; `approx_count_distinct` takes nothing else.
_DECIMAL = re.compile(r"(\d+\.\d*|\.\d+|\d+(?=[eEdDbB]))([eE][+-]?\d+)?(BD|D)?", re.IGNORECASE)
# Literals of doubles, of integers and of percentages.
_DOUBLE = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)[dD]?")
_INTEGER = re.compile(r"([+-]?\s*\d+)[lL]?")
_PLAIN_PERCENTAGE = re.compile(r"\s*(0?\.\d+|0|1|[01]\.0*)[dD]?\s*")


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
    """Returns the percentages in a constant of Spark SQL; raises `ModelError` if it is neither a
    number nor an array of numbers.

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
    """Returns the parameters of a call, with the default order if it has none; raises `ModelError`
    if the function takes other parameters."""
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
    """Returns the parameters of a call whose parameters are optional; raises `ModelError` if there
    are more than the function takes."""
    if len(given) > len(names):
        wanted = ", ".join(names) or "no parameter"
        raise ModelError(f"{function} takes {wanted} behind its arguments, not {given!r}")
    return tuple(given)


@cache
def register_bits(constants: tuple[str, ...]) -> int:
    """Returns the bits of a register's address for a relative error.

    >>> register_bits(()), register_bits(("0.01",))
    (9, 14)
    """
    (text,) = constants or (_DEVIATION,)
    if _DECIMAL.fullmatch(text.strip()):
        error = float(re.sub("(BD|D)$", "", text.strip(), flags=re.IGNORECASE))
        bits = ceil(2.0 * log(1.106 / error) / log(2.0)) if error > 0 else 0
        if LEAST_REGISTER_BITS <= bits <= MOST_REGISTER_BITS:
            return bits
    raise ModelError(f"its relative error is a number from 0.0022 to 0.39, not {text}")


class CountMin(NamedTuple):
    """The table of a count-min sketch, and the seed of its hashes."""

    depth: int
    width: int
    seed: int


@cache
def count_min(constants: tuple[str, ...]) -> CountMin:
    """Returns the table of `count_min_sketch` with a relative error, a confidence and a seed.

    >>> count_min(("0.5D", "0.99D", "-1"))
    CountMin(depth=7, width=4, seed=-1)
    """
    patterns = (_DOUBLE, _DOUBLE, _INTEGER)
    found = [
        pattern.fullmatch(text.strip()) for pattern, text in zip(patterns, constants, strict=False)
    ]
    error, confidence, seed = (
        each[1].replace(" ", "") if each else "0" for each in (*found, *[None] * 3)[:3]
    )
    if not (all(found) and len(found) == 3 and float(error) > 0 and 0 < float(confidence) < 1):
        given = ", ".join(constants)
        raise ModelError(f"its error, confidence and seed are not written as numbers: {given}")
    # Seeds of 64 bits lose their upper half.
    low = int(seed) & 0xFFFFFFFF
    return CountMin(
        depth=ceil(-log1p(-float(confidence)) / log(2)),
        width=ceil(2 / float(error)),
        seed=low - (low >> 31 << 32),
    )


@cache
def kll_accuracy(constants: tuple[str, ...]) -> int:
    """Returns the accuracy k of a KLL sketch.

    >>> kll_accuracy(()), kll_accuracy(("400",))
    (200, 400)
    """
    return _whole_number("k", constants, range(8, 65536), KLL_ACCURACY)


@cache
def top_k(constants: tuple[str, ...]) -> int:
    """Returns how many items `approx_top_k` answers.

    >>> top_k(()), top_k(("3", "100"))
    (5, 3)
    """
    texts = (*constants, *(str(_TOP), str(_TRACKED))[len(constants) :])
    if all(re.fullmatch(r"\s*\d+\s*", text) for text in texts):
        k, tracked = map(int, texts)
        if 1 <= k <= tracked <= _MOST_TRACKED:
            return k
    raise ModelError(
        f"its k is a whole number up to maxItemsTracked, and that up to {_MOST_TRACKED}: "
        + ", ".join(constants)
    )


@cache
def items_tracked(constants: tuple[str, ...]) -> int:
    """Returns how many items `approx_top_k_accumulate` may track.

    >>> items_tracked(()), items_tracked(("100",))
    (10000, 100)
    """
    return _whole_number("maxItemsTracked", constants, range(1, _MOST_TRACKED + 1), _TRACKED)


@cache
def theta_bits(constants: tuple[str, ...]) -> int:
    """Returns the binary logarithm of a theta sketch's size.

    >>> theta_bits(()), theta_bits(("4",))
    (12, 4)
    """
    return _whole_number("lgNomEntries", constants, range(4, 27), _SKETCH_BITS)


@cache
def hll_bits(constants: tuple[str, ...]) -> int:
    """Returns the binary logarithm of a HyperLogLog sketch's size."""
    return _whole_number("lgConfigK", constants, range(4, 22), _SKETCH_BITS)


def _whole_number(name: str, constants: tuple[str, ...], allowed: range, default: int) -> int:
    """Returns the only constant.

    >>> _whole_number("k", ("7",), range(8, 65536), 200)
    Traceback (most recent call last):
    muntin.errors.ModelError: its k is a whole number from 8 to 65535, not 7
    """
    if not constants:
        return default
    (text,) = constants
    if not re.fullmatch(r"\s*\d+\s*", text) or int(text) not in allowed:
        bounds = f"from {allowed[0]} to {allowed[-1]}"
        raise ModelError(f"its {name} is a whole number {bounds}, not {text}")
    return int(text)


def check_percentages(constants: tuple[str, ...]) -> None:
    """Checks the percentage and the accuracy of `approx_percentile`.

    >>> check_percentages(("array(0.5, 0.9)", "100"))
    """
    numbers = re.sub(r"(?i)^\s*array\s*\((.*)\)\s*$", r"\1", constants[0]) if constants else ""
    if not all(map(_PLAIN_PERCENTAGE.fullmatch, numbers.split(","))):
        raise ModelError("its percentage is a number from 0 to 1, or an array of them")
    if constants[1:] and not re.fullmatch(r"[1-9]\d*", constants[1].strip()):
        raise ModelError(f"its accuracy is a whole number above zero, not {constants[1]}")


def allows_different_sizes(constants: tuple[str, ...]) -> bool:
    """Whether `hll_union_agg` unites sketches of different sizes.

    >>> allows_different_sizes(()), allows_different_sizes(("True",))
    (False, True)
    """
    (text,) = constants or ("false",)
    if text.strip().lower() not in ("true", "false"):
        raise ModelError(f"its allowDifferentLgConfigK is true or false, not {text}")
    return text.strip().lower() == "true"
