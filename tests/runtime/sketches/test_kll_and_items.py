"""Sketches and most frequent values of windows, against all their values; without Spark."""

import math
import random
import struct
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from muntin.runtime.columns.value_codes import encode
from muntin.runtime.columns.value_sets import SetColumn, SetFolding, offsets_of
from muntin.runtime.sketches.frequent_items import (
    items_sketches,
    top_items,
    with_null_counts,
    with_nulls,
)
from muntin.runtime.sketches.kll import kll_sketches, united_sketches
from tests.support.sketches import FORMATS, read_kll


def sets_of(rows, lows, highs, kind=None):
    """The sets of windows over rows of one key, each a dictionary of values and counts."""
    values = [value for row in rows for value in row]
    codes, coding = encode(pa.array(values, kind), in_order=True)
    column = SetColumn(
        offsets=offsets_of(np.array([len(row) for row in rows])),
        codes=codes,
        counts=np.array([count for row in rows for count in row.values()], np.int64),
        coding=coding,
    )
    folding = SetFolding(column, np.zeros(len(rows), np.int64))
    return folding.over(np.array(lows), np.array(highs), "recalc")


def hopping(rows, size):
    """Windows of `size` rows, and those that are cut off at the offsets_of."""
    lows = [max(0, end - size) for end in range(1, len(rows) + size)]
    highs = [min(end, len(rows)) for end in range(1, len(rows) + size)]
    bags = [sum(map(Counter, rows[a:b]), Counter()) for a, b in zip(lows, highs, strict=True)]
    return lows, highs, bags


def assert_ranks(levels, bag, k):
    """Every rank is within what the heaviest item stands for, and so within the bound of KLL."""
    total, seen, worst = bag.total(), 0, 0
    items = sorted((item, 1 << height) for height, level in enumerate(levels) for item in level)
    place, rank = 0, 0
    for value in sorted(bag):
        seen += bag[value]
        while place < len(items) and items[place][0] <= value:
            rank += items[place][1]
            place += 1
        worst = max(worst, abs(rank - seen))
    assert worst <= 1 << len(levels) >> 2
    assert worst / total <= 2.296 / k**0.9723


@pytest.mark.parametrize("k", [8, 200, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_kll_sketches(seed, k):
    rng = random.Random(seed)
    kind, (least, most) = rng.choice([*FORMATS]), rng.choice([(1, 1), (1, 3), (1, 1 << 20)])
    values = rng.choice([1, 30, 5000])
    rows = [
        {
            (v if kind == "<i8" else v / 8): rng.randint(least, most)
            for v in rng.sample(range(-values, values), rng.randint(0, min(values, 400)))
        }
        for _ in range(12)
    ]
    lows, highs, bags = hopping(rows, rng.randint(1, 5))
    arrow = pa.int64() if kind == "<i8" else pa.float64()
    images = kll_sketches(sets_of(rows, lows, highs, arrow), k, kind).to_pylist()
    for image, bag in zip(images, bags, strict=True):
        levels, bounds, n = read_kll(image, kind)
        assert n == bag.total()
        if n:
            assert bounds == (min(bag), max(bag))
            assert all(level == sorted(level) for level in levels)
            assert_ranks(levels, bag, k)
        if n <= k:
            assert [item for level in levels for item in level] == sorted(bag.elements())


def test_kll_sketches_of_odd_numbers():
    rows = [{math.nan: 3}, {math.inf: 1, -0.0: 1, math.nan: 2}, {0.0: 1, -math.inf: 2}, {}]
    sets = sets_of(rows, [0, 0, 1, 2, 3], [1, 2, 3, 4, 4])
    images = kll_sketches(sets, 200, "<f8").to_pylist()
    levels = [read_kll(image, "<f8")[0] for image in images]
    inf = math.inf
    assert str(levels) == str(
        [[], [[-0.0, inf]], [[-inf, -inf, -0.0, 0.0, inf]], [[-inf, -inf, 0.0]], []]
    )
    assert images[0] == images[-1] == bytes.fromhex("02010f01c8000800")
    single = kll_sketches(sets_of([{2.5: 1, math.nan: 1}], [0], [1]), 200, "<f4").to_pylist()
    assert single == [bytes.fromhex("02020f04c8000800") + struct.pack("<f", 2.5)]


@pytest.mark.parametrize("k", [None, 200])
@pytest.mark.parametrize("seed", range(6))
def test_unions_of_kll_sketches(seed, k):
    """Each row has some sketches, one of them several times, and one of nothing."""
    rng = random.Random(seed)
    kind = rng.choice([*FORMATS])
    arrow = pa.int64() if kind == "<i8" else pa.float64()
    values = rng.choice([3, 5000])
    bags = [
        Counter(rng.choices(range(-values, values), k=rng.choice([0, 1, 50, 3000])))
        for _ in range(12)
    ]
    ks = [200 if k else rng.choice([100, 300]) for _ in bags]
    images = [
        kll_sketches(sets_of([bag], [0], [1], arrow), each, kind)[0].as_py()
        for bag, each in zip(bags, ks, strict=True)
    ]
    rows = [{n: rng.randint(1, 3) for n in rng.sample(range(12), rng.randint(0, 5))} for _ in bags]
    images.append(b"no sketch")
    rows += [{12: 1, 0: 1}, {}]
    codes, coding = encode(pa.array(images, pa.large_binary()), in_order=False)
    column = SetColumn(
        offsets=offsets_of(np.array([len(row) for row in rows])),
        codes=codes[[n for row in rows for n in row]],
        counts=np.array([count for row in rows for count in row.values()], np.int64),
        coding=coding,
    )
    united = united_sketches(column, k, kind).to_pylist()
    assert united[-2:] == [b"", bytes.fromhex("02010f01c8000800")]
    for image, row in zip(united[:-2], rows[:-2], strict=True):
        bag = sum((bags[n] for n, count in row.items() for _ in range(count)), Counter())
        levels, bounds, n = read_kll(image, kind)
        assert n == bag.total()
        assert struct.unpack_from("<H", image, 4)[0] == (
            k or min((ks[n] for n in row), default=200)
        )
        if n:
            assert bounds == (min(bag), max(bag))
            items = sorted((item, 1 << height) for height, lv in enumerate(levels) for item in lv)
            for value in (-values // 2, 0, values // 2):
                rank = sum(weight for item, weight in items if item <= value)
                exact = sum(count for item, count in bag.items() if item <= value)
                # The error of the sketches, and of their union.
                assert abs(rank - exact) <= n * 2 / 100


@pytest.mark.parametrize("seed", range(20))
def test_most_frequent_values(seed):
    rng = random.Random(seed)
    words = [f"é{value}" for value in range(rng.choice([2, 9, 40]))]
    rows = [
        {word: rng.randint(1, 3) for word in rng.sample(words, rng.randint(0, len(words)))}
        for _ in range(10)
    ]
    lows, highs, bags = hopping(rows, rng.randint(1, 4))
    nulls = np.array([rng.choice([0, 1, 5]) for _ in bags])
    k = rng.choice([1, 3, 100])
    parameters = (str(k), "1000")
    tops = top_items(sets_of(rows, lows, highs, pa.string()), parameters)
    answers = with_nulls(tops, nulls, parameters).to_pylist()
    for answer, bag, missing in zip(answers, bags, nulls, strict=True):
        order = sorted(bag.items(), key=lambda pair: (-pair[1], pair[0]))
        if missing:
            order.append((None, missing))
            order.sort(key=lambda pair: -pair[1])
        assert [(each["item"], each["count"]) for each in answer] == order[:k]


def read_items(image, letter):
    """The counts of a sketch's values, its offset, how many values it is of, and the nulls."""
    words, version, family, most_bits, bits, flags = struct.unpack_from("<6B", image)
    assert (version, family) == (1, 10)
    (nulls,) = struct.unpack_from(">q", image, len(image) - 8)
    if words == 1:
        assert (flags, len(image)) == (5, 16)
        return {}, 0, 0, nulls
    assert (words, flags) == (4, 0)
    size, _, total, offset = struct.unpack_from("<iiqq", image, 8)
    assert size <= 3 << bits >> 2
    assert 3 <= bits <= most_bits
    counts = struct.unpack_from(f"<{size}q", image, 32)
    items = struct.iter_unpack(letter, image[32 + 8 * size : -8])
    return {item[-1]: n for item, n in zip(items, counts, strict=True)}, offset, total, nulls


@pytest.mark.parametrize(("kind", "letter"), [("int", "<Bi"), ("bigint", "<q"), ("double", "<d")])
@pytest.mark.parametrize("seed", range(6))
def test_sketches_of_frequent_values(seed, kind, letter):
    rng = random.Random(seed)
    scale = 0.25 if kind == "double" else 1
    values = [scale * value for value in range(rng.choice([1, 6, 200]))]
    rows = [
        {value: rng.randint(1, 9) for value in rng.sample(values, rng.randint(0, len(values)))}
        for _ in range(8)
    ]
    lows, highs, bags = hopping(rows, rng.randint(1, 4))
    nulls = np.arange(len(bags))
    sets = sets_of(rows, lows, highs, pa.float64() if kind == "double" else pa.int64())
    # Of 10 items at most 12 are kept: three quarters of 16.
    images = with_null_counts(items_sketches(sets, ("10",), kind), nulls).to_pylist()
    for image, bag, missing in zip(images, bags, nulls, strict=True):
        counts, offset, total, holes = read_items(image, letter)
        assert holes == missing
        assert total == (bag.total() if counts else 0)
        assert len(counts) <= 12
        assert {item: count + offset for item, count in counts.items()}.items() <= bag.items()
        # What is left out is not more frequent than the offset says, which is within the bound.
        assert all(bag[item] <= offset for item in bag.keys() - counts.keys()) or not counts
        assert offset <= 3.5 / 16 * bag.total()
        if len(bag) <= 12:
            assert counts == bag
