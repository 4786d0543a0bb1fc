"""Finds the rows that a target takes: those with some bits set."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from muntin.runtime.columns.partials import Int64s
from muntin.techniques.compiled.compile import compiled


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
