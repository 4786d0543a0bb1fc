"""Sweeps over sets of values, against the set of every window made by hand."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from muntin.techniques.sweeps import latest_occurrence as latest
from muntin.techniques.sweeps import ranked_counts as ranked

SEEDS = range(150)


class Case:
    """Rows of a few keys, each with some values, and windows over them that advance."""

    def __init__(self, seed):
        rng = random.Random(seed)
        values = rng.choice([1, 3, 8, 200])
        self.rows, self.runs, lows, highs = [], [0], [], []
        for _ in range(rng.randrange(1, 4)):
            first, length = len(self.rows), rng.randrange(1, 12)
            for _ in range(length):
                most = rng.choice([0, 1, min(values, 6)])
                self.rows.append(
                    {value: rng.randrange(1, 4) for value in rng.sample(range(values), most)}
                )
            self.runs.append(len(self.rows))
            low, high = 0, 0
            # Some keys have windows that leap, and some have none.
            while rng.random() < 0.9:
                low = min(low + rng.choice([0, 1, 1, 2, 5]), length - 1)
                high = min(max(high + rng.choice([0, 1, 1, 2]), low + 1), length)
                lows.append(first + low)
                highs.append(first + high)
        self.lows, self.highs = np.array(lows, np.int64), np.array(highs, np.int64)
        self.offsets = np.cumsum([0, *map(len, self.rows)]).astype(np.int64)
        pairs = [pair for row in self.rows for pair in row.items()]
        self.codes = np.array([code for code, _ in pairs], np.int64)
        self.counts = np.array([count for _, count in pairs], np.int64)
        self.next_rows = latest.find_next_rows(self.codes, self.offsets, values)
        self.bags = [
            sum((Counter(row) for row in self.rows[low:high]), Counter())
            for low, high in zip(lows, highs, strict=True)
        ]


@pytest.mark.parametrize("seed", SEEDS)
def test_distinct_values(seed):
    case = Case(seed)
    swept = case.offsets, case.next_rows
    windows = case.lows, case.highs
    sizes = latest.count_values(*swept, *windows)
    assert sizes.tolist() == [len(bag) for bag in case.bags]
    numbers = (case.codes << 33) - 77 * case.codes - (1 << 40)
    lower, upper = latest.sum_integers(*swept, numbers, *windows)
    expected = [sum((v << 33) - 77 * v - (1 << 40) for v in bag) for bag in case.bags]
    assert [
        (u << 32) + lo for lo, u in zip(lower.tolist(), upper.tolist(), strict=True)
    ] == expected
    floats = np.where(case.codes == 2, np.inf, case.codes * 0.25)
    sums = latest.sum_floats(*swept, floats, *windows)
    wanted = [sum(math.inf if v == 2 else v * 0.25 for v in bag) for bag in case.bags]
    assert sums.tolist() == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_unions(seed):
    case = Case(seed)
    sizes = latest.count_values(case.offsets, case.next_rows, case.lows, case.highs)
    chosen, totals = latest.unite(
        case.codes, case.counts, case.offsets, case.next_rows, case.lows, case.highs, sizes
    )
    ends = np.cumsum(sizes)
    for bag, end, size in zip(case.bags, ends, sizes, strict=True):
        here = slice(end - size, end)
        found = dict(zip(case.codes[chosen[here]].tolist(), totals[here].tolist(), strict=True))
        assert found == bag


@pytest.mark.parametrize("seed", SEEDS)
def test_order_statistics(seed):
    case = Case(seed)
    runs = np.array(case.runs, np.int64)
    swept = ranked.rank_entries(case.codes, case.counts, case.offsets, runs)
    entries = swept.entries
    asked = [0.0, 0.07, 0.5, 0.57, 0.95, 1.0]
    find = np.array([[p, disc, desc] for p in asked for disc in (0, 1) for desc in (0, 1)])
    totals, found = ranked.positions_of(swept, case.lows, case.highs, find)
    assert totals.tolist() == [bag.total() for bag in case.bags]
    for window, bag in enumerate(case.bags):
        for (percentage, is_discrete, descends), places in zip(find, found, strict=True):
            values = sorted(bag.elements(), reverse=bool(descends))
            lower, upper = places[:, window]
            if not values:
                assert lower == upper == -1
                continue
            position = (len(values) - 1) * percentage
            at = math.floor(position), math.ceil(position)
            if is_discrete:
                at = (max(math.ceil(percentage * len(values)) - 1, 0),) * 2
            got = case.codes[entries[lower]], case.codes[entries[upper]]
            assert got == (values[at[0]], values[at[1]])
    for is_descending in (False, True):
        leaders = ranked.most_frequent(swept, case.lows, case.highs, is_descending=is_descending)
        for bag, leader in zip(case.bags, leaders.tolist(), strict=True):
            most = [value for value, count in bag.items() if count == max(bag.values())]
            if not most:
                assert leader == -1
            else:
                wanted = max(most) if is_descending else min(most)
                assert case.codes[entries[leader]] == wanted
    # All positions of each window, the last one first, and its most frequent values.
    sizes = [bag.total() for bag in case.bags]
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    positions = np.array([size - 1 - at for size in sizes for at in range(size)], np.int64)
    ranks = ranked.ranks_at(swept, case.lows, case.highs, starts, positions)
    assert case.codes[entries[ranks]].tolist() == [
        value for bag in case.bags for value in sorted(bag.elements(), reverse=True)
    ]
    for most in (1, 3, 500):
        starts = np.arange(len(case.bags) + 1) * most
        leaders, counts = ranked.find_most_frequent(swept, case.lows, case.highs, starts)
        for window, bag in enumerate(case.bags):
            here = slice(starts[window], starts[window] + min(most, len(bag)))
            pairs = zip(case.codes[entries[leaders[here]]], counts[here], strict=True)
            order = sorted(bag.items(), key=lambda pair: (-pair[1], pair[0]))
            assert list(pairs) == order[:most]
            assert set(leaders[here.stop : starts[window + 1]].tolist()) <= {-1}


class Counted(list):
    """A list that counts how often it is read."""

    reads = 0

    def __getitem__(self, place):
        self.reads += 1
        return super().__getitem__(place)


@pytest.mark.parametrize("length", [2, 10, 200])
def test_steps_do_not_grow_with_windows(length):
    rng = random.Random(3)
    rows, each = 400, 5
    offsets = np.arange(rows + 1) * each
    codes = np.array([rng.randrange(50) for _ in range(rows * each)])
    next_rows = latest.find_next_rows(codes, offsets, 50)
    lows = np.maximum(np.arange(1, rows + 1) - length, 0)
    highs = np.arange(1, rows + 1)
    counted = Counted(next_rows.tolist())
    firsts, lasts = latest.windows_of_rows(lows, highs, rows)
    steps = np.zeros(rows + 1, np.int64)
    latest._count_values(offsets, counted, firsts, lasts, 0, rows, steps)
    # An entry a step, and as many windows as rows: five steps a window, however long it is.
    assert counted.reads == rows * each
    expected = [len(set(codes[offsets[a] : offsets[b]])) for a, b in zip(lows, highs, strict=True)]
    assert np.cumsum(steps[:-1]).tolist() == expected
