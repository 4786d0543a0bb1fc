"""Monoids: how two partials combine, and which algorithms that allows.

A combine is a plain function of scalars or tuples. The same function runs in Python, compiled, and,
traced by `formula.py`, as Spark SQL.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
# The bits of a limb.
_LIMB = (1 << 48) - 1


@dataclass(frozen=True, kw_only=True)
class Monoid:
    """An associative `combine` with an identity, and its further properties."""

    name: str
    combine: Callable[[Any, Any], Any]
    # `inverse(combine(a, b), a) == b`, exactly; never for floats, where subtraction drifts.
    inverse: Callable[[Any, Any], Any] | None = None
    # `combine(a, b)` is always `a` or `b`: a deque of candidates can answer it.
    selective: bool = False
    # `combine(a, a) == a`: overlapping parents do no harm.
    idempotent: bool = False
    # Scalars in one partial; more than one travel as a tuple.
    width: int = 1
    # The value of a missing partial, in integers and in floats, for each of its scalars.
    # It is not compared: a NaN that was pickled is not equal to itself, and kernels are kept by
    # monoid, so that a worker would load those of `MIN` again in each task.
    identity: tuple[int, float] = field(default=(0, 0.0), compare=False)
    # For partials that are sets of values: the sweep over their values that answers windows, in
    # place of a technique that combines partials (see `techniques.sweeps`).
    sweep: str | None = None
    # The techniques that there are for it, if its partials are no numbers.
    only: tuple[str, ...] | None = None


def add(a: Any, b: Any) -> Any:
    """Sum of two partials; integers wrap, as Spark's do with ANSI off."""
    return a + b


def subtract(a: Any, b: Any) -> Any:
    """Inverse of `add`, for integers."""
    return a - b


def add_wide(a: Any, b: Any) -> Any:
    """Sum of (low word, number of wraps): an int64 sum that detects overflow."""
    low = a[0] + b[0]
    turns = a[1] + b[1]
    if (a[0] >= 0) == (b[0] >= 0) and (low >= 0) != (a[0] >= 0):
        turns += 1 if a[0] >= 0 else -1
    return (low, turns)


def subtract_wide(a: Any, b: Any) -> Any:
    """Inverse of `add_wide`."""
    low = a[0] - b[0]
    turns = a[1] - b[1]
    if (a[0] >= 0) != (b[0] >= 0) and (low >= 0) != (a[0] >= 0):
        turns += 1 if a[0] >= 0 else -1
    return (low, turns)


def add_limbs(a: Any, b: Any) -> Any:
    """Sum of two long integers: two limbs of 48 bits each, lowest first, and the rest."""
    low = a[0] + b[0]
    second = a[1] + b[1] + (low >> 48)
    rest = a[2] + b[2] + (second >> 48)
    return (low & _LIMB, second & _LIMB, rest)


def subtract_limbs(a: Any, b: Any) -> Any:
    """Inverse of `add_limbs`."""
    low = a[0] - b[0]
    second = a[1] - b[1] + (low >> 48)
    rest = a[2] - b[2] + (second >> 48)
    return (low & _LIMB, second & _LIMB, rest)


def smaller(a: Any, b: Any) -> Any:
    """Minimum in Spark's order, in which NaN is above everything; `x != x` tests for NaN."""
    if a != a:
        return b
    if b != b:
        return a
    return a if a <= b else b


def larger(a: Any, b: Any) -> Any:
    """Maximum in Spark's order, in which NaN is above everything."""
    if a != a:
        return a
    if b != b:
        return b
    return a if a >= b else b


def bits_of_both(a: Any, b: Any) -> Any:
    """The bits that two integers share."""
    return a & b


def bits_of_either(a: Any, b: Any) -> Any:
    """The bits that at least one of two integers has."""
    return a | b


def bits_of_one(a: Any, b: Any) -> Any:
    """The bits that exactly one of two integers has; its own inverse."""
    return a ^ b


def higher_ranks(a: Any, b: Any) -> Any:
    """Union of two rows of registers, each a run of bytes with the rank of every register."""
    return bytes(map(max, zip(a, b, strict=True)))


def unite(a: Any, b: Any) -> Any:
    """Union of two sets of values."""
    return a | b


def add_counts(a: Any, b: Any) -> Any:
    """Sum of two bags of values, each a `collections.Counter`."""
    return a + b


def merge_moments(a: Any, b: Any) -> Any:
    """Chan's merge of (count, mean, sum of squared deviations)."""
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    count = a[0] + b[0]
    delta = b[1] - a[1]
    share = delta / count
    return (count, a[1] + share * b[0], a[2] + b[2] + delta * share * a[0] * b[0])


def merge_four_moments(a: Any, b: Any) -> Any:
    """Pébay's merge of (count, mean, sums of the deviations' second to fourth powers)."""
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    count = a[0] + b[0]
    delta = b[1] - a[1]
    share = delta / count
    both = a[0] * b[0]
    second = delta * share * both
    return (
        count,
        a[1] + share * b[0],
        a[2] + b[2] + second,
        a[3] + b[3] + second * share * (a[0] - b[0]) + 3.0 * share * (a[0] * b[2] - b[0] * a[2]),
        a[4]
        + b[4]
        + second * share * share * (a[0] * a[0] - both + b[0] * b[0])
        + 6.0 * share * share * (a[0] * a[0] * b[2] + b[0] * b[0] * a[2])
        + 4.0 * share * (a[0] * b[3] - b[0] * a[3]),
    )


def merge_pair_moments(a: Any, b: Any) -> Any:
    """Merge of (count, means of x and y, squared deviations of x and of y, their products)."""
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    count = a[0] + b[0]
    across = b[1] - a[1]
    along = b[2] - a[2]
    weight = a[0] * b[0] / count
    return (
        count,
        a[1] + across / count * b[0],
        a[2] + along / count * b[0],
        a[3] + b[3] + across * across * weight,
        a[4] + b[4] + along * along * weight,
        a[5] + b[5] + across * along * weight,
    )


ADD = Monoid(name="add", combine=add, inverse=subtract)
ADD_WIDE = Monoid(name="add_wide", combine=add_wide, inverse=subtract_wide, width=2)
ADD_LIMBS = Monoid(name="add_limbs", combine=add_limbs, inverse=subtract_limbs, width=3)
ADD_FLOAT = Monoid(name="add_float", combine=add)
# NaN is above everything in Spark's order.
MIN = Monoid(
    name="min", combine=smaller, selective=True, idempotent=True, identity=(_GREATEST, nan)
)
MAX = Monoid(name="max", combine=larger, selective=True, idempotent=True, identity=(_LEAST, -inf))
BIT_AND = Monoid(name="bit_and", combine=bits_of_both, idempotent=True, identity=(-1, nan))
BIT_OR = Monoid(name="bit_or", combine=bits_of_either, idempotent=True)
BIT_XOR = Monoid(name="bit_xor", combine=bits_of_one, inverse=bits_of_one)
MOMENTS = Monoid(name="moments", combine=merge_moments, width=3)
FOUR_MOMENTS = Monoid(name="four_moments", combine=merge_four_moments, width=5)
# The registers of HyperLogLog++.
REGISTERS = Monoid(
    name="registers",
    combine=higher_ranks,
    idempotent=True,
    only=("recalc", "two_stacks_lite"),
)
PAIR_MOMENTS = Monoid(name="pair_moments", combine=merge_pair_moments, width=6)
# The distinct values of a slice, and the same with how often each occurs.
SET = Monoid(name="set", combine=unite, idempotent=True, sweep="latest_occurrence")
BAG = Monoid(name="bag", combine=add_counts, width=2, sweep="ranked_counts")
