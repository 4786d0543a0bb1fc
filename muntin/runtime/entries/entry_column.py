"""A column of partials that are sets of values: an entry for each value of each row."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.runtime.columns.partials import Bools, Coding, Int64s


@dataclass(frozen=True, kw_only=True)
class EntryColumn:
    """The entries of row `r` are `[offsets[r], offsets[r + 1])`; a value has one entry in a row.

    Codes are integers that are equal where values are; `coding` says what they stand for. With
    `counts`, values occur so often.
    """

    offsets: Int64s
    codes: Int64s
    counts: Int64s | None
    coding: Coding

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, first: int) -> "EntryColumn":
        """The partials from a row on."""
        begin = self.offsets[first]
        return replace(
            self,
            offsets=self.offsets[first:] - begin,
            codes=self.codes[begin:],
            counts=None if self.counts is None else self.counts[begin:],
        )

    def where(self, chosen: Bools | Int64s) -> "EntryColumn":
        """The partials of the chosen rows, by their numbers or by a mask."""
        rows = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        lengths = np.diff(self.offsets)[rows]
        offsets = ends(lengths)
        shifts = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return self.taken(np.arange(offsets[-1]) + shifts, offsets)

    def taken(self, entries: Int64s, offsets: Int64s) -> "EntryColumn":
        """The chosen entries as rows that end at other offsets."""
        return replace(
            self,
            offsets=offsets,
            codes=self.codes[entries],
            counts=None if self.counts is None else self.counts[entries],
        )

    def copy(self) -> "EntryColumn":
        """The same partials in memory of their own, without values that none of them has."""
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


def ends(lengths: Int64s) -> Int64s:
    """Returns where rows of some lengths begin, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
