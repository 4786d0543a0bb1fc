"""The monoids that techniques are tried with, and the partials that hypothesis draws for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from muntin.aggregates import monoids as mo
from muntin.aggregates.monoids import Monoid


def add_pairs(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1])


def multiply(a: Any, b: Any) -> Any:
    """x -> a[0] x + a[1], then b: affine maps modulo a prime, which do not commute."""
    return (b[0] * a[0] % 10007, (b[0] * a[1] + b[1]) % 10007)


def keep_first(a: Any, b: Any) -> Any:
    return a


def keep_last(a: Any, b: Any) -> Any:
    return b


def join(a: Any, b: Any) -> Any:
    return a + b


def cut(total: Any, oldest: Any) -> Any:
    return total[len(oldest) :]


# The average as it travels: (sum, count).
AVERAGE = Monoid(name="average", combine=add_pairs, width=2)
AFFINE = Monoid(name="affine", combine=multiply, width=2)
FIRST = Monoid(name="first", combine=keep_first, selective=True)
LAST = Monoid(name="last", combine=keep_last, selective=True)
# Strings run as plain Python only: in order, and even with an inverse that minds the order.
TEXT = Monoid(name="text", combine=join)
TEXT_CUT = Monoid(name="text_cut", combine=join, inverse=cut)
UNION = Monoid(name="union", combine=lambda a, b: a | b, idempotent=True)

INTS = st.integers(-(2**63), 2**63 - 1)
# Multiples of a quarter add up exactly, so that answers can be compared bit by bit.
QUARTERS = st.integers(-4000, 4000).map(lambda n: n / 4)
NASTY = st.one_of(QUARTERS, st.sampled_from((float("nan"), float("inf"), -float("inf"), -0.0, 0.0)))


@dataclass(frozen=True)
class Case:
    """A monoid with partials to draw; no dtypes means Python objects."""

    monoid: Monoid
    partials: st.SearchStrategy[Any]
    dtypes: tuple[Any, ...] = ()
    exact: bool = True

    def __str__(self) -> str:
        return self.monoid.name + "".join(f"-{np.dtype(it).name}" for it in self.dtypes[:1])

    def column(self, partials: list[Any]) -> Any:
        """The partials as the kernels take them."""
        if not self.dtypes:
            return partials
        if len(self.dtypes) == 1:
            return np.array(partials, self.dtypes[0])
        rows = list(zip(*partials, strict=True)) if partials else [()] * len(self.dtypes)
        return tuple(np.array(row, dtype) for row, dtype in zip(rows, self.dtypes, strict=True))

    def assert_same(self, found: Any, expected: Any) -> None:
        if not self.dtypes:
            assert found == expected
        for one, other in zip(
            *((it if isinstance(it, tuple) else (it,)) for it in (found, expected)), strict=True
        ):
            if self.exact:
                np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6)


COMPILED = [
    Case(mo.ADD, INTS, (np.int64,)),
    Case(mo.ADD_FLOAT, QUARTERS, (np.float64,)),
    Case(mo.MAX, NASTY, (np.float64,)),
    Case(mo.ADD_WIDE, st.tuples(INTS, st.integers(-3, 3)), (np.int64, np.int64)),
    Case(AVERAGE, st.tuples(QUARTERS, st.integers(0, 9)), (np.float64, np.int64)),
    Case(
        mo.MOMENTS,
        st.tuples(st.integers(0, 5).map(float), QUARTERS, st.integers(0, 9).map(float)),
        (np.float64,) * 3,
        exact=False,
    ),
    Case(AFFINE, st.tuples(st.integers(1, 10006), st.integers(0, 10006)), (np.int64, np.int64)),
]
PLAIN = [
    Case(TEXT, st.text("abc", max_size=2)),
    Case(TEXT_CUT, st.text("abc", max_size=2)),
    Case(UNION, st.frozensets(st.integers(0, 5), max_size=2)),
    Case(mo.MAX, NASTY),
    Case(mo.MIN, NASTY),
    Case(FIRST, st.integers(0, 9)),
    Case(LAST, st.integers(0, 9)),
    Case(mo.ADD, st.integers(-9, 9)),
]
