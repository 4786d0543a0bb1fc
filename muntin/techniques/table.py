"""The table of techniques: what each needs of a monoid, and which one is best by default."""

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from muntin.errors import PlanError, nearest
from muntin.model.aggregate import Monoid
from muntin.model.plan import BEST
from muntin.techniques import recalc, subtract, two_stacks
from muntin.techniques.compile import bind


@dataclass(frozen=True, kw_only=True)
class Technique:
    """An algorithm and the requirement it makes of a monoid."""

    name: str
    fold: FunctionType
    needs: str = "an associative combine"
    allows: Callable[[Monoid], bool] = lambda monoid: True


TECHNIQUES: dict[str, Technique] = {
    technique.name: technique
    for technique in (
        Technique(name="recalc", fold=recalc.fold),
        Technique(name="two_stacks", fold=two_stacks.fold),
        Technique(
            name="subtract",
            fold=subtract.fold,
            needs="an exact inverse (counts and integer sums)",
            allows=lambda monoid: monoid.inverse is not None,
        ),
    )
}


def technique_for(monoid: Monoid, name: str = BEST) -> Technique:
    """The technique of a name, checked against the monoid; `best` is the measured default."""
    if name == BEST:
        name = "subtract" if monoid.inverse is not None else "two_stacks"
    if name not in TECHNIQUES:
        raise PlanError(f"no technique is called {name!r}; {nearest(name, list(TECHNIQUES))}")
    technique = TECHNIQUES[name]
    if not technique.allows(monoid):
        allowed = [other.name for other in TECHNIQUES.values() if other.allows(monoid)]
        raise PlanError(
            f"{name} needs {technique.needs}, which {monoid.name} lacks; "
            f"it allows: {', '.join(allowed)}"
        )
    return technique


def fold(monoid: Monoid, values: Any, lows: Any, highs: Any, *, technique: str = BEST) -> Any:
    """The aggregate of every range `[lows[i], highs[i])` of a column (a tuple of them if wide).

    Ranges are not empty, and neither end ever moves back.
    """
    columns = values if monoid.width > 1 else (values,)
    answers = tuple(np.empty(len(lows), column.dtype) for column in columns)
    kernel = bind(technique_for(monoid, technique).fold, monoid)
    kernel(values, lows, highs, answers if monoid.width > 1 else answers[0])
    return answers if monoid.width > 1 else answers[0]
