"""Counts the operations of a technique as it runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.aggregates.monoids import Monoid
from muntin.techniques.kernels import drivers
from muntin.techniques.kernels.compile import bind, bind_python
from muntin.techniques.table import technique_for, technique_for_many


@dataclass(frozen=True, kw_only=True)
class Operations:
    """Numbers of combines and of inverses."""

    combines: int
    inverses: int

    @property
    def total(self) -> int:
        """The sum of both, as the papers count."""
        return self.combines + self.inverses


def operations_of_fold(
    monoid: Monoid, values: Any, lows: Any, highs: Any, *, technique: str
) -> Operations:
    """Counts the operations of `table.fold` for these ranges."""
    tally = np.zeros(2, np.int64)
    columns = values if monoid.width > 1 else (values,)
    answers = tuple(np.empty(len(lows), column.dtype) for column in columns)
    kernel = technique_for(monoid, technique).kernel(monoid, counted=True)
    kernel((values, tally), lows, highs, (answers if monoid.width > 1 else answers[0], tally))
    return _operations(tally)


def operations_of_slides(
    monoid: Monoid,
    values: Any,
    sizes: Iterable[int],
    *,
    technique: str,
    warm: int = 0,
    compiled: bool = True,
) -> Operations:
    """Counts the operations to push a column and to answer every size after each partial.

    The first `warm` partials do not count. `compiled=False` takes a list of any objects.
    """
    distinct = np.unique(np.asarray(list(sizes), np.int64))
    choose = technique_for if len(distinct) == 1 else technique_for_many
    algorithm = choose(monoid, technique).algorithm_for(monoid)
    slides: Any = drivers.slide
    tally = np.zeros(2, np.int64)
    if compiled:
        start = bind(algorithm.start, monoid, counted=True)
        slide = bind(slides, monoid, algorithm=algorithm, counted=True)
    else:
        parts = (monoid.combine, monoid.inverse)
        start = bind_python(algorithm.start, *parts, counted=True)
        slide = bind_python(slides, *parts, algorithm=algorithm, counted=True)
    memory, cursor = start((values, tally), distinct)
    for part in (slice(0, warm), slice(warm, None)):
        tally[:] = 0
        some, count = _part(values, part)
        answers = _blank(some, count * len(distinct))
        cursor = slide(memory, cursor, (some, tally), count, distinct, (answers, tally))
    return _operations(tally)


def _part(values: Any, part: slice) -> tuple[Any, int]:
    if isinstance(values, tuple):
        columns = tuple(column[part] for column in values)
        return columns, len(columns[0])
    return values[part], len(values[part])


def _blank(values: Any, length: int) -> Any:
    if isinstance(values, tuple):
        return tuple(np.empty(length, column.dtype) for column in values)
    return [None] * length if isinstance(values, list) else np.empty(length, values.dtype)


def _operations(tally: NDArray[np.int64]) -> Operations:
    return Operations(combines=int(tally[0]), inverses=int(tally[1]))
