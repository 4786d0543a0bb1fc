"""A column of sets of values: one after the other, the values of each row as codes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.columns.partials import Bools, Int64s
from muntin.runtime.columns.value_codes import Coding, decode, with_common_codes


@dataclass(frozen=True, kw_only=True)
class SetColumn:
    """The values of row `r` are `codes[offsets[r] : offsets[r + 1]]`, each once.

    With `counts`, values occur so often, and codes have the order of the values; without, codes are
    only equal where values are.
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


def no_sets(rows: int, *, has_counts: bool) -> SetColumn:
    """Returns so many empty sets."""
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
