"""Sets of values: columns of them, and the sets of windows, which sweeps answer from."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.distinct import Int32s, distinct_integers
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.value_codes import Coding, decode, with_common_codes
from muntin.techniques.sweeps import latest_occurrence
from muntin.techniques.sweeps.ranked_counts import RankedEntries, rank_entries


@dataclass(frozen=True, kw_only=True)
class SetColumn:
    """The values of row `r` are `codes[offsets[r] : offsets[r + 1]]`, each once.

    `counts` has how often each value occurs. With counts, codes have the order of the values;
    without, they are only equal where values are.
    """

    offsets: Int64s
    codes: Int64s
    counts: Int64s | None
    coding: Coding

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def column(self) -> "SetColumn":
        """The sets themselves, as of `WindowSets`."""
        return self

    def rows(self, first: int) -> "SetColumn":
        begin = self.offsets[first]
        return replace(
            self,
            offsets=self.offsets[first:] - begin,
            codes=self.codes[begin:],
            counts=None if self.counts is None else self.counts[begin:],
        )

    def where(self, chosen: Bools | Int64s) -> "SetColumn":
        rows = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        lengths = np.diff(self.offsets)[rows]
        offsets = offsets_of(lengths)
        shifts = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return self.with_values(np.arange(offsets[-1]) + shifts, offsets)

    def with_values(self, chosen: Int64s, offsets: Int64s) -> "SetColumn":
        """Returns the chosen values as rows with other offsets."""
        return replace(
            self,
            offsets=offsets,
            codes=self.codes[chosen],
            counts=None if self.counts is None else self.counts[chosen],
        )

    def copy(self) -> "SetColumn":
        codes, coding = self.codes.copy(), self.coding
        if coding.values is not None:
            used, codes = np.unique(codes, return_inverse=True)
            coding = replace(coding, values=coding.values.take(pa.array(used)))
        return replace(
            self,
            offsets=self.offsets.copy(),
            codes=codes,
            counts=None if self.counts is None else self.counts.copy(),
            coding=coding,
        )

    def concatenate(self, newer: Any) -> "SetColumn":
        newer = newer.column
        codings = self.coding, newer.coding
        coding, codes = with_common_codes(codings, in_order=self.counts is not None)
        both = zip((self, newer), codes, strict=True)
        counts = None
        if self.counts is not None and newer.counts is not None:
            counts = np.concatenate([self.counts, newer.counts])
        return replace(
            self,
            offsets=np.concatenate([self.offsets, newer.offsets[1:] + self.offsets[-1]]),
            codes=np.concatenate([c.codes if new is None else new[c.codes] for c, new in both]),
            counts=counts,
            coding=coding,
        )

    def lists(self) -> pa.Array:
        """Returns the values of each row as a list."""
        offsets = pa.array(self.offsets, pa.int32())
        return pa.ListArray.from_arrays(offsets, decode(self.codes, self.coding))

    def ranks(self) -> Int64s:
        """Returns integers that have the order of the values."""
        values = self.coding.values
        if values is None or self.counts is not None:
            return self.codes
        ranks = np.empty(len(values), np.int64)
        ranks[pc.sort_indices(values).to_numpy()] = np.arange(len(values))
        return ranks[self.codes]


class SetFolding:
    """A column of sets, prepared for sweeps: what several sweeps need is computed once."""

    def __init__(self, column: SetColumn, keys: Int64s) -> None:
        """`keys` has the number of each row's key."""
        self.column = column
        self._keys = keys

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> "WindowSets":
        return WindowSets(folding=self, lows=lows, highs=highs)

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> "WindowSets":
        few = SetFolding(self.column.where(picked), self._keys[picked])
        return few.over(firsts[:-1], firsts[1:], technique)

    @cached_property
    def numbers(self) -> tuple[Int64s | Int32s, int]:
        """A number for each entry, equal where values are, and the number of distinct values."""
        values = self.column.coding.values
        if values is not None:
            return self.column.codes, len(values)
        found = distinct_integers(self.column.codes)
        return found.numbers, found.count

    @cached_property
    def next_rows(self) -> Int64s:
        """The next row that has the value of each entry; the number of rows if none has."""
        numbers, count = self.numbers
        next_rows: Int64s = latest_occurrence.find_next_rows(numbers, self.column.offsets, count)
        return next_rows

    @cached_property
    def ranked_entries(self) -> RankedEntries:
        """The entries, with the rank of each value among those of its key."""
        column = self.column
        steps = np.flatnonzero(np.diff(self._keys)) + 1
        runs = np.concatenate([[0], steps, [len(column)]]).astype(np.int64)
        return rank_entries(column.codes, column.counts, column.offsets, runs)


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowSets:
    """The sets of windows, each the union of rows `[lows[i], highs[i])` of a column; sets are made
    only if `column` or `columns` is read."""

    folding: SetFolding = field(repr=False)
    lows: Int64s
    highs: Int64s

    def __len__(self) -> int:
        return len(self.lows)

    @cached_property
    def sizes(self) -> Int64s:
        """How many distinct values each window has."""
        column, next_rows = self.folding.column, self.folding.next_rows
        sizes: Int64s = latest_occurrence.count_values(
            column.offsets, next_rows, self.lows, self.highs
        )
        return sizes

    @cached_property
    def column(self) -> SetColumn:
        """The sets themselves."""
        column = self.folding.column
        numbers, _ = self.folding.numbers
        chosen, totals = latest_occurrence.unite(
            numbers,
            column.counts,
            column.offsets,
            self.folding.next_rows,
            self.lows,
            self.highs,
            self.sizes,
        )
        return replace(column.with_values(chosen, offsets_of(self.sizes)), counts=totals)

    def columns(self, most: int) -> Iterator[SetColumn]:
        """Yields the sets of all windows in order, about `most` values at a time: windows that
        overlap may have many times as many values as their rows."""
        if self.sizes.sum() <= most:
            yield self.column
            return
        stretches = np.cumsum(self.sizes) // most
        steps = np.flatnonzero(np.diff(stretches)) + 1
        for first, last in pairwise([0, *steps.tolist(), len(self)]):
            yield replace(self, lows=self.lows[first:last], highs=self.highs[first:last]).column

    def rows(self, first: int) -> SetColumn:
        return self.column.rows(first)

    def where(self, chosen: Bools | Int64s) -> SetColumn:
        return self.column.where(chosen)

    def copy(self) -> SetColumn:
        return self.column.copy()

    def concatenate(self, newer: "SetColumn | WindowSets") -> SetColumn:
        return self.column.concatenate(newer.column)


def no_sets(rows: int, *, has_counts: bool) -> SetColumn:
    """Returns a column of empty sets."""
    nothing = np.empty(0, np.int64)
    return SetColumn(
        offsets=np.zeros(rows + 1, np.int64),
        codes=nothing,
        counts=nothing if has_counts else None,
        coding=Coding(kind=pa.null()),
    )


def offsets_of(lengths: Int64s) -> Int64s:
    """Returns where rows of some lengths begin, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def sums_of(numbers: Int64s, offsets: Int64s) -> Int64s:
    """Returns the sum of each row's numbers, `numbers[offsets[i] : offsets[i + 1]]`."""
    totals = offsets_of(numbers)
    sums: Int64s = totals[offsets[1:]] - totals[offsets[:-1]]
    return sums
