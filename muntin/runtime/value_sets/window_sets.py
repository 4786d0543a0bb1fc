"""Sets of values over the rows of windows: prepared once, swept for each kind of answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from muntin.runtime.columns.distinct import Int32s, distinct_integers
from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.value_sets.set_column import SetColumn, offsets_of
from muntin.techniques.sweeps import latest_occurrence
from muntin.techniques.sweeps.ranked_counts import Ranked, ranked


class SetFolding:
    """A column of sets to be swept; what several sweeps need is computed once."""

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
        """A number for each value, equal where values are, and how many there are."""
        values = self.column.coding.values
        if values is not None:
            return self.column.codes, len(values)
        found = distinct_integers(self.column.codes)
        return found.numbers, found.count

    @cached_property
    def following(self) -> Int64s:
        """The next row that has each value."""
        numbers, count = self.numbers
        following: Int64s = latest_occurrence.next_rows(numbers, self.column.offsets, count)
        return following

    @cached_property
    def ranked(self) -> Ranked:
        """The values with their ranks among those of their key."""
        column = self.column
        steps = np.flatnonzero(np.diff(self._keys)) + 1
        runs = np.concatenate([[0], steps, [len(column)]]).astype(np.int64)
        return ranked(column.codes, column.counts, column.offsets, runs)


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowSets:
    """The sets of windows, each of some rows of a column; no set is made unless it is read."""

    folding: SetFolding = field(repr=False)
    lows: Int64s
    highs: Int64s

    def __len__(self) -> int:
        return len(self.lows)

    @cached_property
    def sizes(self) -> Int64s:
        """How many distinct values each window has."""
        column, following = self.folding.column, self.folding.following
        sizes: Int64s = latest_occurrence.count_values(
            column.offsets, following, self.lows, self.highs
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
            self.folding.following,
            self.lows,
            self.highs,
            self.sizes,
        )
        return replace(column.with_values(chosen, offsets_of(self.sizes)), counts=totals)

    def columns(self, most: int) -> Iterator[SetColumn]:
        """Yields the sets of some windows after those of others, about `most` values at a time:
        windows that overlap may together have many times what their rows have."""
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
