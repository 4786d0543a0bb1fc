"""The errors that approximate functions are called with, and how many registers follow from one."""

import re
from functools import cache
from math import ceil, log, log1p
from typing import NamedTuple

# The relative standard deviation that Spark takes if none is given.
_DEFAULT = "0.05"
# Spark's own least, and the most for which it corrects the bias.
LEAST, MOST = 4, 18
# A literal of Spark's for a decimal or a double; it takes nothing else.
_LITERAL = re.compile(r"(\d+\.\d*|\.\d+|\d+(?=[eEdDbB]))([eE][+-]?\d+)?(BD|D)?", re.IGNORECASE)

# Literals of doubles and of integers.
_DOUBLE = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)[dD]?")
_INTEGER = re.compile(r"([+-]?\s*\d+)[lL]?")


@cache
def precision(constants: tuple[str, ...]) -> int | None:
    """Returns the bits of a register's address; None if Spark would not take the error, or the
    registers would be more than slices should keep.

    >>> precision(()), precision(("0.01",)), precision(("rsd",))
    (9, 14, None)
    """
    (text,) = constants or (_DEFAULT,)
    if not _LITERAL.fullmatch(text.strip()):
        return None
    error = float(re.sub("(BD|D)$", "", text.strip(), flags=re.IGNORECASE))
    if error <= 0:
        return None
    bits = ceil(2.0 * log(1.106 / error) / log(2.0))
    return bits if LEAST <= bits <= MOST else None


def why_not(constants: tuple[str, ...]) -> str | None:
    """Returns why `approx_count_distinct` with these constants is left to Spark; None: it is not.

    >>> why_not(("0.0001",))
    'its relative error is a number from 0.0022 to 0.39, not 0.0001'
    """
    if precision(constants):
        return None
    return f"its relative error is a number from 0.0022 to 0.39, not {', '.join(constants)}"


class CountMin(NamedTuple):
    """The table of a count-min sketch, and the seed of its hashes."""

    depth: int
    width: int
    seed: int


@cache
def count_min(constants: tuple[str, ...]) -> CountMin | None:
    """Returns the table of `count_min_sketch` with a relative error, a confidence and a seed; None
    if these are not written as numbers that Spark takes.

    >>> count_min(("0.5D", "0.99D", "-1"))
    CountMin(depth=7, width=4, seed=-1)
    """
    if len(constants) != 3:
        return None
    error, confidence = (_DOUBLE.fullmatch(text.strip()) for text in constants[:2])
    seed = _INTEGER.fullmatch(constants[2].strip())
    if error is None or confidence is None or seed is None:
        return None
    eps, share = float(error[1]), float(confidence[1])
    if not (eps > 0 and 0 < share < 1):
        return None
    # Seeds of 64 bits lose their upper half.
    low = int(seed[1].replace(" ", "")) & 0xFFFFFFFF
    return CountMin(
        depth=ceil(-log1p(-share) / log(2)), width=ceil(2 / eps), seed=low - (low >> 31 << 32)
    )


def why_no_table(constants: tuple[str, ...]) -> str | None:
    """Returns why `count_min_sketch` with these constants is left to Spark, or None.

    >>> why_no_table(("e", "0.5D", "1"))
    'its error, confidence and seed are not written as numbers: e, 0.5D, 1'
    """
    if count_min(constants):
        return None
    return f"its error, confidence and seed are not written as numbers: {', '.join(constants)}"


# The accuracy that Spark takes for a KLL sketch if none is given, and its bounds.
KLL_ACCURACY, _LEAST_K, _MOST_K = 200, 8, 65535
# The items that `approx_top_k` answers, and those that it may track, unless a call says otherwise.
_TOP, _TRACKED, _MOST_TRACKED = 5, 10_000, 1_000_000


@cache
def kll_accuracy(constants: tuple[str, ...]) -> int | None:
    """Returns the accuracy k of a KLL sketch; None if it is not a number that Spark takes.

    >>> kll_accuracy(()), kll_accuracy(("400",)), kll_accuracy(("7",))
    (200, 400, None)
    """
    (k,) = _whole_numbers(constants, (KLL_ACCURACY,))
    return k if k is not None and _LEAST_K <= k <= _MOST_K else None


def why_no_accuracy(constants: tuple[str, ...]) -> str | None:
    """Returns why a KLL sketch with this accuracy is left to Spark, or None.

    >>> why_no_accuracy(("7",))
    'its k is a whole number from 8 to 65535, not 7'
    """
    if kll_accuracy(constants):
        return None
    return f"its k is a whole number from {_LEAST_K} to {_MOST_K}, not {constants[0]}"


@cache
def top_k(constants: tuple[str, ...]) -> int | None:
    """Returns how many items `approx_top_k` answers; None if that, or how many it tracks, is not a
    number that Spark takes.

    >>> top_k(()), top_k(("3", "100")), top_k(("30", "10"))
    (5, 3, None)
    """
    k, tracked = _whole_numbers(constants, (_TOP, _TRACKED))
    return k if k and tracked and k <= tracked <= _MOST_TRACKED else None


def why_no_top(constants: tuple[str, ...]) -> str | None:
    """Returns why `approx_top_k` with these constants is left to Spark, or None.

    >>> why_no_top(("0",))
    'its k is a whole number up to maxItemsTracked, and that up to 1000000: 0'
    """
    if top_k(constants):
        return None
    given = ", ".join(constants)
    return f"its k is a whole number up to maxItemsTracked, and that up to {_MOST_TRACKED}: {given}"


@cache
def items_tracked(constants: tuple[str, ...]) -> int | None:
    """Returns how many items `approx_top_k_accumulate` may track; None if that is not a number that
    Spark takes.

    >>> items_tracked(()), items_tracked(("100",)), items_tracked(("0",))
    (10000, 100, None)
    """
    (tracked,) = _whole_numbers(constants, (_TRACKED,))
    return tracked if tracked and tracked <= _MOST_TRACKED else None


def why_not_tracked(constants: tuple[str, ...]) -> str | None:
    """Returns why `approx_top_k_accumulate` with this constant is left to Spark, or None.

    >>> why_not_tracked(("n",))
    'its maxItemsTracked is a whole number up to 1000000, not n'
    """
    if items_tracked(constants):
        return None
    return f"its maxItemsTracked is a whole number up to {_MOST_TRACKED}, not {constants[0]}"


def _whole_numbers(constants: tuple[str, ...], defaults: tuple[int, ...]) -> tuple[int | None, ...]:
    """Returns constants as numbers, with defaults for those that are left out; None: it is none."""
    numbers = [
        int(text.strip()) if re.fullmatch(r"\s*\d+\s*", text) else None for text in constants
    ]
    return (*numbers, *defaults[len(numbers) :])


def why_no_percentage(constants: tuple[str, ...]) -> str | None:
    """Returns why `approx_percentile` with a percentage and an accuracy is left to Spark, or None.

    >>> why_no_percentage(("array(0.5, 0.9)", "100")), why_no_percentage(("0.5", "n"))
    (None, 'its accuracy is a whole number above zero, not n')
    """
    numbers = re.sub(r"(?i)^\s*array\s*\((.*)\)\s*$", r"\1", constants[0]) if constants else ""
    for text in numbers.split(","):
        if not re.fullmatch(r"\s*(0?\.\d+|0|1|[01]\.0*)[dD]?\s*", text):
            return "its percentage is a number from 0 to 1, or an array of them"
    if constants[1:] and not re.fullmatch(r"[1-9]\d*", constants[1].strip()):
        return f"its accuracy is a whole number above zero, not {constants[1]}"
    return None


# The bits of a theta or HyperLogLog sketch if none are given, and those that Spark takes.
_SKETCH_BITS = 12
_THETA_BITS, _HLL_BITS = range(4, 27), range(4, 22)


def bits_of(constants: tuple[str, ...]) -> int:
    """Returns the binary logarithm of a sketch's size, a whole number.

    >>> bits_of(()), bits_of(("4",))
    (12, 4)
    """
    return int(constants[0]) if constants else _SKETCH_BITS


def why_no_theta(constants: tuple[str, ...]) -> str | None:
    """Returns why a theta sketch with this `lgNomEntries` is left to Spark, or None.

    >>> why_no_theta(("n",))
    'its lgNomEntries is a whole number from 4 to 26, not n'
    """
    return _why_no_bits("lgNomEntries", _THETA_BITS, constants)


def why_no_hll(constants: tuple[str, ...]) -> str | None:
    """Returns why a HyperLogLog sketch with this `lgConfigK` is left to Spark, or None.

    >>> why_no_hll(("12",)), why_no_hll(("22",))
    (None, 'its lgConfigK is a whole number from 4 to 21, not 22')
    """
    return _why_no_bits("lgConfigK", _HLL_BITS, constants)


def _why_no_bits(name: str, taken: range, constants: tuple[str, ...]) -> str | None:
    for text in constants:
        if not re.fullmatch(r"\s*\d+\s*", text) or int(text) not in taken:
            return f"its {name} is a whole number from {taken[0]} to {taken[-1]}, not {text}"
    return None


def is_true(constants: tuple[str, ...]) -> bool:
    """Whether a constant that may be left out says true.

    >>> is_true(()), is_true(("True",)), is_true(("false",))
    (False, True, False)
    """
    return bool(constants) and constants[0].strip().lower() == "true"


def why_no_union(constants: tuple[str, ...]) -> str | None:
    """Returns why `hll_union_agg` with this `allowDifferentLgConfigK` is left to Spark, or None.

    >>> why_no_union(("1 > 0",))
    'its allowDifferentLgConfigK is true or false, not 1 > 0'
    """
    for text in constants:
        if text.strip().lower() not in ("true", "false"):
            return f"its allowDifferentLgConfigK is true or false, not {text}"
    return None
