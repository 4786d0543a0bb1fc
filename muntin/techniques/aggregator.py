"""A sliding window as an object: takes partials, returns aggregates of the latest ones."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muntin.aggregates.monoids import Monoid
from muntin.errors import PlanError, RunError
from muntin.techniques.kernels import drivers
from muntin.techniques.kernels.compile import bind, bind_python
from muntin.techniques.table import technique_for, technique_for_many


@dataclass(frozen=True, kw_only=True)
class AggregatorState:
    """The saved state of an aggregator, as plain data that can be pickled."""

    technique: str
    monoid: str
    sizes: tuple[int, ...]
    is_compiled: bool
    # Arrays (lists for objects), and the few numbers and partials that change with every slide.
    memory: Any
    cursor: Any


class Aggregator:
    """The latest partials of a stream, up to the longest of `sizes`, under one technique.

    Compiled for partials of `dtype` (for wide monoids, of each scalar); `object` runs the same
    source as plain Python, for a monoid of any objects. A call costs about a microsecond: push
    batches through `insert_many`, where an element costs nanoseconds.

    >>> from muntin.aggregates.monoids import MAX
    >>> window = Aggregator(MAX, sizes=[2, 3])
    >>> window.insert_many([5.0, 1.0, 2.0, 0.0]).tolist()
    [[5.0, 5.0], [5.0, 5.0], [2.0, 5.0], [2.0, 2.0]]
    >>> float(window.query(1))
    0.0
    """

    def __init__(
        self,
        monoid: Monoid,
        sizes: Iterable[int],
        *,
        technique: str | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self.sizes: NDArray[np.int64] = np.unique(np.asarray(list(sizes), np.int64))
        if not len(self.sizes) or self.sizes[0] < 1:
            raise PlanError(f"a window holds at least one partial, not {list(self.sizes)}")
        choose = technique_for if len(self.sizes) == 1 else technique_for_many
        self.technique = choose(monoid, technique)
        self.monoid = monoid
        self.is_compiled = dtype is not object
        self._dtypes = dtype if isinstance(dtype, tuple) else (dtype,) * monoid.width
        algorithm = self.technique.algorithm_for(monoid)
        if not hasattr(algorithm, "insert"):
            raise PlanError(f"{self.technique.name} keeps no state between calls; panes does")

        def bind_for_monoid(function: Any) -> Callable[..., Any]:
            if self.is_compiled:
                return bind(function, monoid, algorithm=algorithm)
            return bind_python(function, monoid.combine, monoid.inverse, algorithm=algorithm)

        self._insert = bind_for_monoid(drivers.push)
        self._evict = bind_for_monoid(algorithm.evict)
        self._query = bind_for_monoid(algorithm.query)
        self._slide = bind_for_monoid(drivers.slide)
        self._memory, self._cursor = bind_for_monoid(algorithm.start)(self._allocate(0), self.sizes)

    def __len__(self) -> int:
        """Returns how many partials the window holds."""
        return int(self._cursor[1] - self._cursor[0])

    def insert(self, partial: Any) -> None:
        """Adds the newest partial; if the longest window is full, its oldest partial leaves."""
        self._cursor = self._insert(
            self._memory, self._cursor, self._in_own_types(partial), self.sizes
        )

    def evict(self) -> None:
        """Drops the oldest partial."""
        if not len(self):
            raise RunError("nothing is left to evict")
        self._cursor = self._evict(self._memory, self._cursor)

    def query(self, size: int | None = None) -> Any:
        """Returns the aggregate of the latest `size` partials, or of all if not given."""
        held = len(self)
        size = held if size is None else size
        if not 1 <= size <= held:
            raise RunError(f"the latest {size} of {held} partials cannot be aggregated")
        if size != held and not self.technique.has_many_sizes:
            raise RunError(
                f"{self.technique.name} answers only for all {held} partials that are held"
            )
        slot = int(np.searchsorted(self.sizes, size))
        return self._query(self._memory, self._cursor, size, slot)

    def insert_many(self, partials: Any) -> Any:
        """Inserts partials one by one; row i has the aggregate of each of `sizes`, ascending.

        A wide monoid takes and returns a tuple of columns; objects are in lists. A window that is
        not full aggregates what there is.
        """
        values, count = self._as_columns(partials)
        answers = self._allocate(count * len(self.sizes))
        self._cursor = self._slide(self._memory, self._cursor, values, count, self.sizes, answers)
        shape = (count, len(self.sizes))
        if not self.is_compiled:
            return [answers[i * shape[1] : (i + 1) * shape[1]] for i in range(count)]
        if self.monoid.width == 1:
            return answers.reshape(shape)
        return tuple(column.reshape(shape) for column in answers)

    def save(self) -> AggregatorState:
        """Returns a copy of the state, for `restore`."""
        return AggregatorState(
            technique=self.technique.name,
            monoid=self.monoid.name,
            sizes=tuple(self.sizes.tolist()),
            is_compiled=self.is_compiled,
            memory=_copy_columns(self._memory),
            cursor=self._cursor,
        )

    def restore(self, state: AggregatorState) -> None:
        """Continues from a state that an aggregator with the same arguments has saved."""
        own = self.save()
        for name in ("technique", "monoid", "sizes", "is_compiled"):
            saved, needed = getattr(state, name), getattr(own, name)
            if saved != needed:
                raise RunError(f"that state has {name} {saved!r}, and this window {needed!r}")
        self._memory, self._cursor = _copy_columns(state.memory), state.cursor

    def _as_columns(self, partials: Any) -> tuple[Any, int]:
        if not self.is_compiled:
            values = list(partials)
            return values, len(values)
        if self.monoid.width == 1:
            column = np.ascontiguousarray(partials, self._dtypes[0])
            return column, len(column)
        columns = tuple(
            np.ascontiguousarray(column, dtype)
            for column, dtype in zip(partials, self._dtypes, strict=True)
        )
        return columns, len(columns[0])

    def _allocate(self, length: int) -> Any:
        if not self.is_compiled:
            return [None] * length
        if self.monoid.width == 1:
            return np.empty(length, self._dtypes[0])
        return tuple(np.empty(length, dtype) for dtype in self._dtypes)

    def _in_own_types(self, partial: Any) -> Any:
        """Returns a partial in the types that the code was compiled for."""
        if not self.is_compiled:
            return partial
        if self.monoid.width == 1:
            return np.dtype(self._dtypes[0]).type(partial)
        return tuple(
            np.dtype(dtype).type(scalar)
            for scalar, dtype in zip(partial, self._dtypes, strict=True)
        )


def _copy_columns(memory: Any) -> Any:
    """Copies arrays, lists and tuples of them."""
    return tuple(map(_copy_columns, memory)) if isinstance(memory, tuple) else memory.copy()
