"""Sets of windows: all at once, and a few windows at a time."""

import random

import numpy as np
import pytest

from muntin.runtime.columns.value_sets import SetFolding
from tests.support.value_sets import set_column


def sets_of(column):
    return [
        set(column.codes[first:last].tolist())
        for first, last in zip(column.offsets, column.offsets[1:], strict=False)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_few_windows_at_a_time(seed):
    rng = random.Random(seed)
    rows = [{rng.randrange(40) for _ in range(rng.randrange(1, 9))} for _ in range(60)]
    folding = SetFolding(set_column(rows), np.zeros(len(rows), np.int64))
    lows = np.arange(50)
    ranges = folding.over(lows, lows + 10, "latest_occurrence")
    expected = [set().union(*rows[low : low + 10]) for low in range(50)]
    assert sets_of(ranges.column) == expected
    for most in (1, 30, 200, 10_000):
        parts = list(ranges.columns(most))
        assert [each for part in parts for each in sets_of(part)] == expected
        assert (len(parts) == 1) == (most == 10_000)
        assert most < 30 or all(len(part.codes) < most + 40 for part in parts)
    nothing = folding.over(lows[:0], lows[:0], "latest_occurrence")
    assert [len(part) for part in nothing.columns(5)] == [0]
