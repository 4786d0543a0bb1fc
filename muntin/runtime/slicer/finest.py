"""The finest slices of a chunk of events, from which the slices of many trees are folded.

Where many trees read the same events, most of the work is to group them once for each tree. If
the finest slices, by the keys and edges of all trees, are far fewer than the events, it is
cheaper to make these first. Where a condition differs between the events of a finest slice, its
components are made from the events that meet it.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.model.windows import Edges
from muntin.runtime.columns.distinct import Distinct, Groups, count_rows
from muntin.runtime.columns.partials import Bools, Column, Int64s
from muntin.runtime.slicer.chunk import BatchChunk, Chunk, lift_name, rows_with_bits, uses_by
from muntin.runtime.slicer.slicer_tree import SlicerTree
from muntin.runtime.storage.component_storage import ComponentStorage
from muntin.techniques.kernels.compile import compile_kernel

# The bits of a tree's masks that differ inside finest slices, by column.
Guard = tuple[tuple[str, int], ...]
# The number of rows in a sample that estimates how many events a finest slice has.
_SAMPLE = 1 << 16


class FinestSlices(Chunk):
    """Finest slices as rows of a chunk; `foldable` trees read them in place of events."""

    def __init__(
        self, events: BatchChunk, fine: Groups, starts: Int64s, foldable: Sequence[SlicerTree]
    ) -> None:
        super().__init__(starts, uses_by(foldable))
        self._fine = fine
        keys = {name for tree in foldable for name in tree.layout.key_columns}
        self._codes = {name: _codes_at(events.codes(name), fine.firsts) for name in keys}
        # By column: the bits that all events of each slice share, and the bits that differ in some
        # slice.
        self._same: dict[str, Int64s] = {}
        self._varying: dict[str, int] = {}
        for name in {name for tree in foldable for name in tree.masks}:
            self._same[name] = np.full(fine.count, -1)
            self._varying[name] = _join_bits(events.bits(name), fine.numbers, self._same[name])
        self._seen: dict[Guard, Bools | None] = {}
        self._partials: dict[tuple[Guard, Hashable], Column] = {}
        members: dict[Guard, list[SlicerTree]] = {}
        for tree in foldable:
            members.setdefault(self._guard(tree), []).append(tree)
        for guard, trees in members.items():
            self._fold(events, guard, trees)

    def _fold(self, events: BatchChunk, guard: Guard, trees: Iterable[SlicerTree]) -> None:
        """Combines the events that meet one guard, for all components."""
        groups = self._fine
        self._seen[guard] = None
        if guard:
            rows = rows_with_bits([(events.bits(name), mask) for name, mask in guard])
            groups = Groups(rows=rows, numbers=groups.numbers[rows], firsts=groups.firsts)
            self._seen[guard] = count_rows(groups) > 0
        for tree in trees:
            for storage in tree.layout.storages:
                place = guard, lift_name(storage, tree)
                if place not in self._partials:
                    lifted = events.lift(storage, tree)
                    self._partials[place] = storage.combine(lifted, groups)

    def _guard(self, tree: SlicerTree) -> Guard:
        varying = {name: mask & self._varying[name] for name, mask in tree.masks.items()}
        return tuple(sorted((name, mask) for name, mask in varying.items() if mask))

    def lift(self, storage: ComponentStorage, tree: SlicerTree) -> Column:
        """Returns a component's partials under the guard of a tree, one a slice."""
        return self._partials[self._guard(tree), lift_name(storage, tree)]

    def codes(self, name: str) -> tuple[Distinct, pa.Array, Int64s]:
        """Returns a key's codes, and the value and the hash of each code."""
        return self._codes[name]

    def select_rows(self, tree: SlicerTree) -> Int64s:
        """Returns the slices that have an event with all bits of a tree's masks."""
        masked = [
            (self._same[name], mask & ~self._varying[name]) for name, mask in tree.masks.items()
        ]
        rows = rows_with_bits(masked)
        seen = self._seen[self._guard(tree)]
        return rows if seen is None else rows[seen[rows]]


class FinestSlicing:
    """Decides for each chunk whether trees are folded from its finest slices.

    They are if at least `trees_at_least` trees can be folded, and finest slices have at least
    `events` events on average.
    """

    def __init__(self, trees: Iterable[SlicerTree], *, trees_at_least: int, events: int) -> None:
        self._foldable = [tree for tree in trees if _is_foldable(tree)]
        self._events = events
        self._is_worth_it = len(self._foldable) >= trees_at_least
        self._keys = sorted({n for t in self._foldable for n in t.layout.key_columns})
        self._edges = _finest_edges(each for t in self._foldable for each in t.slicing.edges)

    def chunks_by_tree(self, events: BatchChunk) -> Mapping[int, Chunk]:
        """Returns the finest slices under the number of each tree to fold from them."""
        if not self._is_worth_it:
            return {}
        few = np.arange(min(_SAMPLE, len(events.times)))
        if events.group_rows(self._keys, self._edges, few).count * self._events > len(few):
            return {}
        fine = events.group_rows(self._keys, self._edges)
        starts = events.starts(self._edges, fine.firsts)
        made = FinestSlices(events, fine, starts, self._foldable)
        for tree in self._foldable:
            events.release(tree)
        return {tree.number: made for tree in self._foldable}


def _is_foldable(tree: SlicerTree) -> bool:
    """Whether a tree groups events, and its partials can be combined again."""
    if tree.values is None or tree.is_whole or tree.carried:
        return False
    return all(storage.is_foldable for storage in tree.layout.storages)


def _finest_edges(edges: Iterable[Edges]) -> tuple[Edges, ...]:
    """Returns the progressions of all edges without those that others include."""
    kept: list[Edges] = []
    for each in sorted(set(edges)):
        if not any(other.includes(each) for other in kept):
            kept.append(each)
    return tuple(kept)


def _codes_at(
    codes: tuple[Distinct, pa.Array, Int64s], rows: Int64s
) -> tuple[Distinct, pa.Array, Int64s]:
    distinct, values, hashes = codes
    return Distinct(numbers=distinct.numbers[rows], firsts=distinct.firsts), values, hashes


def _join_group_bits(bits: Any, groups: Any, common: Any, some: Any) -> int:
    """Fills in the bits that all rows of each group have; returns the bits that differ within some
    group."""
    for row in range(len(bits)):
        common[groups[row]] &= bits[row]
        some[groups[row]] |= bits[row]
    varying = 0
    for group in range(len(common)):
        varying |= common[group] ^ some[group]
    return varying


_join = compile_kernel(_join_group_bits)


def _join_bits(bits: Int64s, groups: Any, common: Int64s) -> int:
    return int(_join(bits, groups, common, np.zeros(len(common), np.int64)))
