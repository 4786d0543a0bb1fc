"""Groups of rows: the number of each row's group, and the first row of each group."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.runtime.columns.distinct import Int32s
from muntin.runtime.columns.partials import Int64s
from muntin.techniques.compiled.compile import compiled


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The groups of some rows of a chunk."""

    # The rows, ascending; None if all are grouped.
    rows: Int64s | None
    # The group of each of these rows.
    numbers: Int32s
    # The first row of each group.
    firsts: Int64s

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.firsts)


def count_rows(groups: Groups) -> Int64s:
    """Returns how many rows each group has."""
    counts = np.zeros(groups.count, np.int64)
    _count(groups.numbers, counts)
    return counts


def _count_groups(groups: Any, counts: Any) -> None:
    for index in range(len(groups)):
        counts[groups[index]] += 1


_count = compiled(_count_groups)
