"""The table of techniques: what each needs of a monoid, and how it runs over a column."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from muntin.aggregates.monoids import Monoid
from muntin.errors import PlanError, nearest
from muntin.techniques import (
    b_int,
    daba,
    daba_lite,
    flat_fat,
    flat_fit,
    panes,
    recalc,
    slick_deque,
    slick_deque_inv,
    subtract,
    two_stacks,
    two_stacks_lite,
)
from muntin.techniques.kernels import drivers
from muntin.techniques.kernels.compile import bind


@dataclass(frozen=True, kw_only=True)
class Technique:
    """An algorithm and what it needs of a monoid."""

    name: str
    algorithm: ModuleType
    # Another algorithm of the same name, for invertible monoids.
    algorithm_with_inverse: ModuleType | None = None
    # Whether one structure answers windows of many sizes.
    has_many_sizes: bool = False
    needs: str = "an associative combine"
    accepts: Callable[[Monoid], bool] = lambda monoid: True

    def allows(self, monoid: Monoid) -> bool:
        """Whether it can combine by a monoid."""
        return self.accepts(monoid) if monoid.only is None else self.name in monoid.only

    def algorithm_for(self, monoid: Monoid) -> ModuleType:
        """Returns the module that runs for a monoid."""
        if self.algorithm_with_inverse is not None and monoid.inverse is not None:
            return self.algorithm_with_inverse
        return self.algorithm

    def kernel(self, monoid: Monoid, *, counted: bool = False) -> Callable[..., None]:
        """Returns the compiled `fold(values, lows, highs, answers)`, its own if it has one."""
        algorithm = self.algorithm_for(monoid)
        own: FunctionType | None = getattr(algorithm, "fold", None)
        if own is not None:
            return bind(own, monoid, counted=counted)
        return bind(drivers.fold, monoid, algorithm=algorithm, counted=counted)


TECHNIQUES: dict[str, Technique] = {
    technique.name: technique
    for technique in (
        Technique(name="recalc", algorithm=recalc, has_many_sizes=True),
        Technique(name="panes", algorithm=panes, has_many_sizes=True),
        Technique(
            name="subtract",
            algorithm=subtract,
            needs="an exact inverse (counts and integer sums)",
            accepts=lambda monoid: monoid.inverse is not None,
        ),
        Technique(name="flat_fat", algorithm=flat_fat, has_many_sizes=True),
        Technique(name="b_int", algorithm=b_int, has_many_sizes=True),
        Technique(name="flat_fit", algorithm=flat_fit, has_many_sizes=True),
        Technique(name="two_stacks", algorithm=two_stacks),
        Technique(name="two_stacks_lite", algorithm=two_stacks_lite),
        Technique(name="daba", algorithm=daba),
        Technique(name="daba_lite", algorithm=daba_lite),
        Technique(
            name="slick_deque",
            algorithm=slick_deque,
            algorithm_with_inverse=slick_deque_inv,
            has_many_sizes=True,
            needs="a selective combine (min and max) or an exact inverse (counts, integer sums)",
            accepts=lambda monoid: monoid.selective or monoid.inverse is not None,
        ),
    )
}


def technique_by_name(name: str) -> Technique:
    """Returns the technique of that name; raises an error that suggests the nearest name."""
    if name not in TECHNIQUES:
        raise PlanError(f"no technique is called {name!r}; {nearest(name, list(TECHNIQUES))}")
    return TECHNIQUES[name]


def technique_for(monoid: Monoid, name: str | None = None) -> Technique:
    """Returns the technique of that name, checked against the monoid, or the measured default."""
    if name is None:
        name = "subtract" if monoid.inverse is not None else "two_stacks_lite"
    technique = technique_by_name(name)
    if not technique.allows(monoid):
        allowed = [candidate.name for candidate in TECHNIQUES.values() if candidate.allows(monoid)]
        raise PlanError(
            f"{name} needs {technique.needs}, which {monoid.name} lacks; "
            f"it allows: {', '.join(allowed)}"
        )
    return technique


def technique_for_many(monoid: Monoid, name: str | None = None) -> Technique:
    """Returns the same as `technique_for`, for windows of many sizes in one structure."""
    if name is None:
        selects = monoid.selective or monoid.inverse is not None
        name = "slick_deque" if selects else "flat_fit"
    technique = technique_for(monoid, name)
    if not technique.has_many_sizes:
        able = [
            candidate.name
            for candidate in TECHNIQUES.values()
            if candidate.has_many_sizes and candidate.allows(monoid)
        ]
        raise PlanError(f"{name} answers windows of one size only; of many: {', '.join(able)}")
    return technique


def fold(
    monoid: Monoid, values: Any, lows: Any, highs: Any, *, technique: str | None = None
) -> Any:
    """Returns the aggregate of every range `[lows[i], highs[i])` of a column (a tuple if wide).

    Ranges are not empty, and neither end ever moves back.
    """
    kernel = technique_for(monoid, technique).kernel(monoid)
    answers = _allocate_answers(monoid, values, len(lows))
    kernel(values, lows, highs, answers)
    return answers


class Fold:
    """`fold` of one column for many windows; what they share is built once, on first use."""

    def __init__(self, monoid: Monoid, values: Any) -> None:
        self._monoid = monoid
        self._values = values

    @cached_property
    def _losses(self) -> Any:
        losses = np.empty(len(self._values), np.int64)
        bind(slick_deque.find_losses, self._monoid)(self._values, 0, len(losses), losses)
        return losses

    def __call__(self, lows: Any, highs: Any, technique: str) -> Any:
        """Returns the aggregate of every range, as `fold` does."""
        monoid, values = self._monoid, self._values
        if technique_for(monoid, technique).algorithm_for(monoid) is not slick_deque:
            return fold(monoid, values, lows, highs, technique=technique)
        answers = _allocate_answers(monoid, values, len(lows))
        bind(slick_deque.fold_by_losses, monoid)(values, self._losses, lows, highs, answers)
        return answers


def _allocate_answers(monoid: Monoid, values: Any, count: int) -> Any:
    """Allocates `count` answers."""
    if monoid.width == 1:
        return np.empty(count, values.dtype)
    return tuple(np.empty(count, column.dtype) for column in values)
