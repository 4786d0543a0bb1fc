"""Ω: the final combines per slice of each technique (Incremental MQO, section 4.1)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from math import e, factorial

import numpy as np
from numpy.typing import NDArray

from muntin.aggregates.monoids import Monoid
from muntin.aggregates.table import FUNCTIONS
from muntin.errors import PlanError, nearest
from muntin.model.time import SECOND
from muntin.model.windows import Slicing, Window
from muntin.techniques.table import TECHNIQUES

# From this length on, the sum of inverse factorials in equation 7 no longer changes.
_LONG_DEQUE = 18


@dataclass(frozen=True, kw_only=True, eq=False)
class Load:
    """What Ω needs to know about the windows of a tree; the loads of two trees can be added."""

    # The size and the overlap of each distinct window.
    sizes: NDArray[np.float64]
    overlaps: NDArray[np.float64]

    @cached_property
    def count(self) -> int:
        """The number of windows."""
        return len(self.sizes)

    @cached_property
    def overlap(self) -> float:
        """The sum of the overlaps."""
        return float(self.overlaps.sum())

    def __add__(self, other: "Load") -> "Load":
        return Load(
            sizes=np.concatenate([self.sizes, other.sizes]),
            overlaps=np.concatenate([self.overlaps, other.overlaps]),
        )

    def without(self, window: Window) -> "Load":
        """Returns the load without one of its windows."""
        place = np.flatnonzero((self.sizes == window.size) & (self.overlaps == window.overlap))[0]
        return Load(sizes=np.delete(self.sizes, place), overlaps=np.delete(self.overlaps, place))

    def overlapping(self, least: float) -> "Load":
        """Returns the load of the windows that overlap at least so much."""
        chosen = self.overlaps >= least
        return Load(sizes=self.sizes[chosen], overlaps=self.overlaps[chosen])


def load_of(windows: Iterable[Window]) -> Load:
    """Returns the load of windows, each counted once."""
    distinct = dict.fromkeys(windows)
    return Load(
        sizes=np.array([window.size for window in distinct], dtype=np.float64),
        overlaps=np.array([window.overlap for window in distinct], dtype=np.float64),
    )


def _partials(load: Load, rate: float) -> NDArray[np.float64]:
    """Returns Pᵢ, the partials of each window: size by the average slice, at least one."""
    return np.maximum(1.0, np.rint(load.sizes * (rate / SECOND)))


def _recalc(load: Load, rate: float) -> float:
    """Equation 3: every partial is read by each window that holds it."""
    return load.overlap


def _flat_fat(load: Load, rate: float) -> float:
    """Equation 4: the least set of inner nodes that spans the window."""
    partials = _partials(load, rate)
    partials = partials[partials > 1]
    if not partials.size:
        return 0.0
    depth = np.floor(np.log2(partials))
    return float(np.sum(np.floor(np.log2(partials - 1)) + (partials - 1) / 2**depth))


def _per_query(operations: float) -> Callable[[Load, float], float]:
    """Equation 5, and the amortised column of table 2: the same for every window."""
    return lambda load, rate: operations * load.count


def _subtract(load: Load, rate: float) -> float:
    """Equation 6: two for each running aggregate, one per distinct number of partials."""
    return 2.0 * len(np.unique(_partials(load, rate)))


def _slick_deque(load: Load, rate: float) -> float:
    """Equation 7: one deque, and one walk along it for all windows."""
    longest = max(1.0, round(float(load.sizes.max()) * rate / SECOND))
    return 2.0 - 2.0 / longest + load.count + deque_length(longest)


def deque_length(partials: float) -> float:
    """Returns the average length of a deque of candidates over random data: the sum of 1/i!."""
    if partials >= _LONG_DEQUE:
        return e - 1.0
    return sum(1.0 / factorial(i) for i in range(1, int(partials) + 1))


OPERATIONS: dict[str, Callable[[Load, float], float]] = {
    "recalc": _recalc,
    "panes": _recalc,
    "subtract": _subtract,
    "flat_fat": _flat_fat,
    "b_int": _flat_fat,
    "flat_fit": _per_query(3.0),
    "two_stacks": _per_query(3.0),
    "two_stacks_lite": _per_query(3.0),
    "daba": _per_query(5.0),
    "daba_lite": _per_query(4.0),
    "slick_deque": _slick_deque,
}

# Techniques for which Ω of two trees merged is the sum of both.
ADDITIVE = frozenset(
    {"recalc", "panes", "flat_fit", "two_stacks", "two_stacks_lite", "daba", "daba_lite"}
)


def operations_of(technique: str) -> Callable[[Load, float], float]:
    """Returns Ω of a technique, as a function of the load and the slices per second."""
    if technique not in OPERATIONS:
        raise PlanError(
            f"no technique is called {technique!r}; {nearest(technique, list(OPERATIONS))}"
        )
    return OPERATIONS[technique]


def operations_per_slice(technique: str, windows: Iterable[Window], slicing: Slicing) -> float:
    """Returns Ω of distinct windows that all read the same slices."""
    return operations_of(technique)(load_of(windows), slicing.rate)


@cache
def steady_operations(function: str) -> float:
    """Returns the fewest combines per slice of an aggregate for long windows, for any type."""
    return steady_operations_of(FUNCTIONS[function].monoids)


@cache
def steady_operations_of(monoids: tuple[Monoid, ...]) -> float:
    """Returns the fewest combines per slice, for long windows, of a technique that serves all the
    monoids."""
    if all(monoid.sweep is not None for monoid in monoids):
        # A sweep takes a step for each entry, however long windows are.
        return 1.0
    long = load_of([Window(size=1 << 40, slide=1)])
    return min(
        count(long, SECOND)
        for name, count in OPERATIONS.items()
        if all(TECHNIQUES[name].allows(monoid) for monoid in monoids)
    )
