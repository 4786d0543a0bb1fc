"""A chunk of rows, and the results computed from it that several trees share."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from muntin.model.windows import Edges
from muntin.runtime.columns.arrow_arrays import integers_of
from muntin.runtime.columns.distinct import Distinct, Groups, distinct_integers, distinct_pairs
from muntin.runtime.columns.key_codes import (
    hash_values,
    mixed_radix,
    normalize_floats,
    number_values,
)
from muntin.runtime.columns.partials import Int64s
from muntin.runtime.slicer.slicer_tree import SlicerTree, SliceStarts, slice_starts
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.techniques.kernels.compile import compile_kernel

_T = TypeVar("_T")
_INT64 = np.iinfo(np.int64).max
# A tree that takes fewer than one in this many rows groups them itself.
_MANY = 4


class Chunk(ABC):
    """Some rows in memory, and the results that were computed from them for several trees.

    `times` has the instant of each row, and `uses` the number of trees that use each result. A
    result is dropped after its last use, so that memory does not grow with the number of trees.
    """

    def __init__(self, times: Int64s, uses: Counter[Hashable]) -> None:
        self.times = times
        self._uses = uses.copy()
        self._results: dict[Hashable, Any] = {}

    @abstractmethod
    def lift(self, storage: ComponentStorage, tree: SlicerTree) -> Any:
        """Returns the lifted values of a component, one per row; see `ComponentStorage.lift`."""

    @abstractmethod
    def codes(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns the code of a key in each row, and the value and the hash of each code."""

    @abstractmethod
    def select_rows(self, tree: SlicerTree) -> Int64s:
        """Returns the rows that a tree's masks choose, ascending."""

    def groups(self, tree: SlicerTree) -> Groups:
        """Returns the groups of a tree's rows."""
        rows = self.rows(tree)
        names, edges = tree.layout.key_columns, tree.slicing.edges
        place = _groups_of(tree)
        is_shared = self._uses[place] > 1 or place in self._results
        if rows is not None and not (is_shared and _MANY * len(rows) > len(self.times)):
            return self.group_rows(names, edges, rows)
        groups = self._compute_once(place, lambda: self.group_rows(names, edges))
        return groups if rows is None else select_groups(groups, rows)

    def group_rows(
        self, names: Sequence[str], edges: tuple[Edges, ...], rows: Int64s | None = None
    ) -> Groups:
        """Returns groups of some rows, or of all, by keys and slice."""
        codes = [self.codes(name)[0] for name in names]
        keys, size = self._compute_once(
            _keys_of(names), lambda: mixed_radix(codes, len(self.times))
        )
        return group(keys, size, self.slices(edges), rows)

    def rows(self, tree: SlicerTree) -> Int64s | None:
        """Returns the rows that a tree takes, ascending; None if it takes all."""
        if not tree.masks:
            return None
        return self._compute_once(_rows_of(tree), lambda: self.select_rows(tree))

    def slices(self, edges: tuple[Edges, ...]) -> SliceStarts:
        """Returns the slice of each row."""
        return self._compute_once(_slices_of(edges), lambda: slice_starts(self.times, edges))

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

    def release(self, tree: SlicerTree) -> None:
        """Drops the results that only this tree still used; called when the tree is done."""
        for result in results_for(tree):
            self._uses[result] -= 1
            if not self._uses[result]:
                self._results.pop(result, None)

    def _compute_once(self, result: Hashable, compute: Callable[[], _T]) -> _T:
        if result not in self._results:
            self._results[result] = compute()
        value: _T = self._results[result]
        return value


class BatchChunk(Chunk):
    """The rows of a batch, with their instants in the column `time`."""

    def __init__(self, batch: pa.RecordBatch, time: str, uses: Counter[Hashable]) -> None:
        super().__init__(integers_of(batch.column(time)), uses)
        self._batch = batch

    def lift(self, storage: ComponentStorage, tree: SlicerTree) -> Any:
        """Returns the lifted values of a component, one per row."""
        return self._compute_once(lift_name(storage, tree), lambda: self._lift(storage, tree))

    def codes(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns the code of a key in each row, and the value and the hash of each code."""

        def encode() -> tuple[Distinct, pa.Array, Int64s]:
            column = self._batch.column(name)
            codes = number_values(column)
            values = normalize_floats(column.take(pa.array(codes.firsts)))
            return codes, values, hash_values(values)

        return self._compute_once(codes_of(name), encode)

    def column(self, name: str) -> pa.Array:
        """Returns a column of the rows."""
        return self._batch.column(name)

    def bits(self, name: str) -> Int64s:
        """Returns a column of bits; none are set where it is null."""
        return self._compute_once(bits_of(name), lambda: integers_of(self._batch.column(name)))

    def select_rows(self, tree: SlicerTree) -> Int64s:
        """Returns the rows that a tree's masks choose, ascending."""
        return rows_with_bits([(self.bits(name), mask) for name, mask in tree.masks.items()])

    def _lift(self, storage: ComponentStorage, tree: SlicerTree) -> Any:
        if tree.values is None:
            return storage.lift_partials(self._batch)
        return storage.lift(self._batch, tree.values[storage.component])


def uses_by(trees: Iterable[SlicerTree]) -> Counter[Hashable]:
    """Returns how many trees use each result."""
    return Counter(result for tree in trees for result in results_for(tree))


def results_for(tree: SlicerTree) -> Iterable[Hashable]:
    """Names the results that a tree uses, each once."""
    used = [_rows_of(tree), *map(bits_of, tree.masks)]
    used += map(codes_of, tree.layout.key_columns)
    used += (lift_name(storage, tree) for storage in tree.layout.storages)
    if not tree.is_whole:
        keys = _keys_of(tree.layout.key_columns)
        used += (_slices_of(tree.slicing.edges), keys, _groups_of(tree))
    return dict.fromkeys(used)


def bits_of(name: str) -> Hashable:
    """Names the bits of a column."""
    return ("bits", name)


def codes_of(name: str) -> Hashable:
    """Names the codes of a key."""
    return ("codes", name)


def lift_name(storage: ComponentStorage, tree: SlicerTree) -> Hashable:
    """Names the lifted values of a component."""
    kind = storage.component, storage.value_type, storage.representation
    if tree.values is None:
        return ("partials", *kind, storage.columns)
    return ("lifted", *kind, tree.values[storage.component])


def _rows_of(tree: SlicerTree) -> Hashable:
    return ("rows", *sorted(tree.masks.items()))


def _slices_of(edges: tuple[Edges, ...]) -> Hashable:
    return ("slices", edges)


def _keys_of(names: Sequence[str]) -> Hashable:
    return ("keys", *names)


def _groups_of(tree: SlicerTree) -> Hashable:
    return ("groups", tree.layout.key_columns, tree.slicing.edges)


def group(keys: Any, size: int, slices: SliceStarts, rows: Int64s | None) -> Groups:
    """Groups rows by key and slice; `keys` has a number below `size` for each row of the chunk.

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
    """Returns the rows, ascending, that have all bits of each mask set in its integers; there is at
    least one mask."""
    (bits, mask), *others = masked
    rows = np.empty(len(bits), np.int64)
    rows = rows[: _find(bits, mask, rows)].copy()
    for bits, mask in others:
        rows = rows[(bits[rows] & mask) == mask]
    return rows


def _find_rows(bits: Any, mask: int, rows: Any) -> int:
    """Fills `rows` without a branch, which the processor could not predict."""
    count = 0
    for row in range(len(bits)):
        rows[count] = row
        count += (bits[row] & mask) == mask
    return count


_find = compile_kernel(_find_rows)
