"""A chunk of rows, and all that several targets need of it, computed once."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from muntin.model.slicing import Edges
from muntin.runtime.columns.distinct import Distinct, distinct_integers, distinct_pairs
from muntin.runtime.columns.groups import Groups
from muntin.runtime.columns.key_codes import mixed_radix
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.slicer.slice_starts import SliceStarts, slice_starts
from muntin.runtime.slicer.target import Target
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.techniques.compiled.compile import compiled

_T = TypeVar("_T")
_INT64 = np.iinfo(np.int64).max
# If a target takes fewer rows than one in so many, it groups them itself.
_MANY = 4


class Chunk(ABC):
    """Some rows in memory, and what was computed from them for the targets that follow.

    `times` has the instant of each row. `uses` says how many targets use each result. One that no
    target uses any more is dropped, so that memory does not grow with the number of targets.
    """

    def __init__(self, times: Int64s, uses: Counter[Hashable]) -> None:
        self.times = times
        self._uses = uses.copy()
        self._results: dict[Hashable, Any] = {}

    @abstractmethod
    def lift(self, storage: ComponentStorage, target: Target) -> Any:
        """Returns what a component is combined from, of each row; see `ComponentStorage.lift`."""

    @abstractmethod
    def codes(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns a key's codes, and the value and the hash of each code."""

    @abstractmethod
    def select_rows(self, target: Target) -> Int64s:
        """Returns the rows that a target's masks choose, ascending."""

    def groups(self, target: Target) -> Groups:
        """Returns the groups of a target's rows."""
        rows = self.rows(target)
        names, edges = target.layout.key_columns, target.slicing.edges
        place = _groups_of(target)
        is_shared = self._uses[place] > 1 or place in self._results
        if rows is not None and not (is_shared and _MANY * len(rows) > len(self.times)):
            return self.group_rows(names, edges, rows)
        groups = self._once(place, lambda: self.group_rows(names, edges))
        return groups if rows is None else select_groups(groups, rows)

    def group_rows(
        self, names: Sequence[str], edges: tuple[Edges, ...], rows: Int64s | None = None
    ) -> Groups:
        """Returns groups of some rows, or of all, by keys and slice."""
        codes = [self.codes(name)[0] for name in names]
        keys, size = self._once(_keys_of(names), lambda: mixed_radix(codes, len(self.times)))
        return group(keys, size, self.slices(edges), rows)

    def rows(self, target: Target) -> Int64s | None:
        """Returns the rows that are a target's, ascending; None: all are."""
        if not target.masks:
            return None
        return self._once(_rows_of(target), lambda: self.select_rows(target))

    def slices(self, edges: tuple[Edges, ...]) -> SliceStarts:
        """Returns the slice of each row."""
        return self._once(_slices_of(edges), lambda: slice_starts(self.times, edges))

    def starts(self, edges: tuple[Edges, ...], rows: Int64s) -> Int64s:
        """Returns where the slices of some rows begin."""
        slices = self.slices(edges)
        return slices.starts[slices.numbers[rows]]

    def key(self, name: str, rows: Int64s) -> pa.Array:
        """Returns the values of a key in some rows."""
        codes, values, _ = self.codes(name)
        return values.take(pa.array(codes.numbers[rows]))

    def key_hashes(self, name: str, rows: Int64s) -> Int64s:
        """Returns the hashes of these values."""
        codes, _, hashes = self.codes(name)
        return hashes[codes.numbers[rows]]

    def release(self, target: Target) -> None:
        """Drop what a target used, unless another one uses it; called when the target is done."""
        for result in results_for(target):
            self._uses[result] -= 1
            if not self._uses[result]:
                self._results.pop(result, None)

    def _once(self, result: Hashable, compute: Callable[[], _T]) -> _T:
        if result not in self._results:
            self._results[result] = compute()
        value: _T = self._results[result]
        return value


def uses_by(targets: Iterable[Target]) -> Counter[Hashable]:
    """Returns how many targets use each result."""
    return Counter(result for target in targets for result in results_for(target))


def results_for(target: Target) -> Iterable[Hashable]:
    """Names the results that a target uses, each once."""
    used = [_rows_of(target), *map(bits_of, target.masks)]
    used += map(codes_of, target.layout.key_columns)
    used += (lift_name(storage, target) for storage in target.layout.storages)
    if not target.is_whole:
        keys = _keys_of(target.layout.key_columns)
        used += (_slices_of(target.slicing.edges), keys, _groups_of(target))
    return dict.fromkeys(used)


def bits_of(name: str) -> Hashable:
    """Names the bits of a column."""
    return ("bits", name)


def codes_of(name: str) -> Hashable:
    """Names the codes of a key."""
    return ("codes", name)


def lift_name(storage: ComponentStorage, target: Target) -> Hashable:
    """Names what a component is combined from."""
    kind = storage.component, storage.value_type, storage.representation
    if target.values is None:
        return ("partials", *kind, storage.columns)
    return ("lifted", *kind, target.values[storage.component])


def _rows_of(target: Target) -> Hashable:
    return ("rows", *sorted(target.masks.items()))


def _slices_of(edges: tuple[Edges, ...]) -> Hashable:
    return ("slices", edges)


def _keys_of(names: Sequence[str]) -> Hashable:
    return ("keys", *names)


def _groups_of(target: Target) -> Hashable:
    return ("groups", target.layout.key_columns, target.slicing.edges)


def group(keys: Any, size: int, slices: SliceStarts, rows: Int64s | None) -> Groups:
    """Group rows; `keys` has a number below `size` for each row of the chunk.

    Slices are the major part of a pair's number: events come roughly by time, so the pairs of
    neighbours are neighbours in memory.
    """
    if size > _INT64 // max(len(slices.starts), 1):
        dense = distinct_integers(keys, size=size)
        keys, size = dense.numbers, dense.count
    found = distinct_pairs(keys, slices.numbers, (size, len(slices.starts)), rows)
    return Groups(rows=rows, numbers=found.numbers, firsts=found.firsts)


def select_groups(groups: Groups, rows: Int64s) -> Groups:
    """Returns the groups of some rows, out of the groups of all rows."""
    chosen = distinct_integers(groups.numbers[rows], size=groups.count)
    return Groups(rows=rows, numbers=chosen.numbers, firsts=rows[chosen.firsts])


def rows_with_bits(masked: Sequence[tuple[Int64s, int]]) -> Int64s:
    """Returns the rows, ascending, that have all bits of each mask set in the integers beside it;
    there is at least one mask."""
    (bits, mask), *others = masked
    rows = np.empty(len(bits), np.int64)
    rows = rows[: _find(bits, mask, rows)].copy()
    for bits, mask in others:
        rows = rows[(bits[rows] & mask) == mask]
    return rows


def _find_rows(bits: Any, mask: int, rows: Any) -> int:
    """Fill `rows` without a branch: which rows are taken is random."""
    count = 0
    for row in range(len(bits)):
        rows[count] = row
        count += (bits[row] & mask) == mask
    return count


_find = compiled(_find_rows)
