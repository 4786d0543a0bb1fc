"""Windows that a user's class finds: it gets each record of a key in order.

Between two batches of a stream, the state of its objects is saved as JSON, without their code.
"""

import json
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np

from muntin.errors import RunError
from muntin.model.data_windows import Custom
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.data_windows.window_stream import (
    NO_END,
    Discretizer,
    DiscretizerState,
    Records,
    WindowEdges,
)

_NUMBERS = np.bool_ | np.integer | np.floating
_PLAIN = "None, booleans, numbers, text, and lists and dicts of these under text"


class CustomDiscretizer(Discretizer):
    """Base of the two classes of Cutty: each key has an object of the user's class, which gets
    records as named tuples."""

    forgets = False

    def __init__(self, window: Custom) -> None:
        super().__init__()
        self.window = window
        names = ("time", *(name for name, _ in window.columns))
        self._record: Any = namedtuple("Record", names)  # type: ignore[misc]

    def _stretches(
        self, records: Records, carried: DiscretizerState
    ) -> Iterator[tuple[int, int, int, Any]]:
        """Yields (stretch, first row, stop row, the user's object for its key), key by key."""
        pairs = zip(records.lows.tolist(), records.stops.tolist(), strict=True)
        for home, (low, high) in enumerate(pairs):
            if carried.user_objects[home] is None and low < high:
                carried.user_objects[home] = self.window.make()
            yield home, low, high, carried.user_objects[home]

    def _columns(self, records: Records, low: int, high: int) -> list[Any]:
        seen = [records.columns[sql][low:high] for _, sql in self.window.columns]
        return [records.times[low:high], *seen]

    def _rows(self, records: Records, low: int, high: int) -> Iterator[Any]:
        """Yields the records of a stretch as objects."""
        columns = [column.tolist() for column in self._columns(records, low, high)]
        return map(self._record._make, zip(*columns, strict=True))


class CountedDiscretizer(CustomDiscretizer):
    """Deterministic: `f_disc` returns how many windows begin and end with each record.

    If the class has `f_disc_batch`, it gets whole stretches: a record of arrays in, two arrays out.
    """

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Windows end in the order in which they began (Cutty, section 2.1)."""
        begins, reads, timed, homes = [], [], [], []
        for home, low, high, made in self._stretches(records, carried):
            began, ended = self._counts(made, records, low, high)
            before = int(carried.open[home])
            self._check(began, ended, before)
            begins.append(np.repeat(np.arange(low, high), began))
            reads.append(np.repeat(np.arange(low, high), ended))
            left = before + int(began.sum() - ended.sum()) if home < len(records.firsts) else 0
            reads.append(np.full(left, high))
            timed += [np.ones(len(reads[-2]), np.bool_), np.zeros(left, np.bool_)]
            homes.append(np.full(len(reads[-2]) + left, home))
        rows = np.concatenate(begins)
        ends = np.concatenate(reads)
        return WindowEdges(
            begins=rows,
            starts=records.times[rows],
            reads=ends,
            ends=records.times_at(ends, np.concatenate(timed)),
            stretches=np.concatenate(homes),
        )

    def _counts(self, made: Any, records: Records, low: int, high: int) -> tuple[Int64s, Int64s]:
        if low == high:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        batch_counts = None
        if hasattr(made, "f_disc_batch"):
            batch_counts = made.f_disc_batch(self._record(*self._columns(records, low, high)))
        else:
            counts = [made.f_disc(record) for record in self._rows(records, low, high)]
        try:
            pair = zip(*counts, strict=True) if batch_counts is None else batch_counts
            began, ended = (np.asarray(part, np.int64) for part in pair)
        except (TypeError, ValueError):
            raise RunError(
                f"{self.window} must give two counts for each record: windows that begin with it, "
                f"and windows that end before it"
            ) from None
        if len(began) != high - low or len(ended) != high - low:
            raise RunError(f"{self.window} gave {len(began)} counts for {high - low} records")
        return began, ended

    def _check(self, began: Int64s, ended: Int64s, before: int) -> None:
        """Raises an error if a window ends that has not begun with an earlier record."""
        begun = before + np.concatenate([[0], np.cumsum(began)[:-1]])[: len(began)]
        if (began < 0).any() or (ended < 0).any() or (np.cumsum(ended) > begun).any():
            raise RunError(f"{self.window} ended a window that had not begun before")


class EvictingDiscretizer(CustomDiscretizer):
    """Not deterministic: stores a partial for every record, as the Reactive Aggregator does.

    To the cutter, each record begins a window, which closes without an answer when the record is
    evicted.
    """

    def __init__(self, window: Custom) -> None:
        super().__init__(window)
        self._oldest = 0

    def find(self, records: Records, carried: DiscretizerState) -> WindowEdges:
        """Before each record, reads all stored records if it triggers, then evicts the oldest."""
        # Row, stretch, window, whether it closes, end.
        edges: list[tuple[int, int, int, bool, int]] = []
        oldest = self._oldest
        for home, low, high, made in self._stretches(records, carried):
            size = int(carried.open[home])
            for row, record in enumerate(self._rows(records, low, high), low):
                if made.trigger(record) and size:
                    edges.append((row, home, oldest, False, record.time))
                leaving = self._check_evicted(made.evict(record, size), size)
                edges += [(row, home, oldest + index, True, 0) for index in range(leaving)]
                oldest += leaving
                size += 1 - leaving
            if home < len(records.firsts) and size:
                edges.append((high, home, oldest, False, int(NO_END)))
                edges += [(high, home, oldest + index, True, int(NO_END)) for index in range(size)]
                oldest += size
        self._oldest = oldest
        reads, homes, numbers, closes, ends = (
            np.array(part, np.int64) for part in (zip(*edges, strict=True) if edges else [()] * 5)
        )
        return WindowEdges(
            begins=np.arange(records.rows),
            starts=records.times,
            reads=reads,
            ends=ends,
            stretches=homes,
            numbers=numbers,
            closes=closes.astype(np.bool_),
            asks=~closes.astype(np.bool_),
        )

    def _check_evicted(self, leaving: int, size: int) -> int:
        if not 0 <= leaving <= size:
            raise RunError(f"{self.window} cannot evict {leaving} of {size} records")
        return int(leaving)


def save(made: Any, window: Custom) -> str:
    """Returns the state of an object: what its `state()` returns, or else its attributes."""
    if _has_own_state(made):
        state = made.state()
        _check(state, window, "state()")
    else:
        try:
            state = vars(made)
        except TypeError:
            raise RunError(
                f"{window} cannot be saved between two batches of a stream: it has no attributes; "
                f"give it state() and restore(state)"
            ) from None
        for name, value in state.items():
            _check(value, window, f"self.{name}")
    return json.dumps(state, default=lambda number: number.item())


def restore(text: str, window: Custom) -> Any:
    """Returns a new object with the state that was saved."""
    made, state = window.make(), json.loads(text)
    if _has_own_state(made):
        made.restore(state)
    else:
        vars(made).clear()
        vars(made).update(state)
    return made


def _has_own_state(made: Any) -> bool:
    return all(callable(getattr(type(made), name, None)) for name in ("state", "restore"))


def _check(value: Any, window: Custom, where: str) -> None:
    """Raises an error if JSON would change a value."""
    if type(value) is list:
        for element in value:
            _check(element, window, where)
    elif type(value) is dict and all(type(name) is str for name in value):
        for element in value.values():
            _check(element, window, where)
    elif value is not None and not isinstance(value, _NUMBERS | bool | int | float | str):
        raise RunError(
            f"{window} cannot be saved between two batches of a stream: {where} has a "
            f"{type(value).__name__} in it; a stream saves {_PLAIN}; keep those, or give the "
            f"class state() and restore(state)"
        )
