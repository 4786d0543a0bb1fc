"""Sketches that are made of values with their counts, and how to read them."""

import random
import struct

import numpy as np

import muntin as mt

COUNTED = {
    "kll": mt.kll_sketch_agg_bigint("v"),
    "kll_small": mt.kll_sketch_agg_bigint("CAST(v AS INT)", 8, where="v % 3 = 0"),
    "kll_double": mt.kll_sketch_agg_double("x", 40),
    "kll_float": mt.kll_sketch_agg_float("CAST(x AS FLOAT)"),
    "top": mt.approx_top_k("v % 7", 3),
    "top_float": mt.approx_top_k("x", 4, 100, where="v > 9"),
    "top_text": mt.approx_top_k("concat('é', v % 5)", 100),
    "state": mt.approx_top_k_accumulate("v % 7", 100),
    "state_few": mt.approx_top_k_accumulate("CAST(v AS INT)", 9),
    "state_text": mt.approx_top_k_accumulate("concat('é', v % 5)"),
}
# The types of a KLL sketch's items, as `struct` calls them.
FORMATS = {"<i8": "q", "<f8": "d", "<f4": "f"}


def over_a_thousand_windows(spark, aggregates, *columns):
    """Yields these columns of each window's answer, and the values that the window holds.

    The windows are long beside what small sketches keep, and few values are frequent.
    """
    rng = random.Random(4)
    start, step, size = 1_700_000_040, 6, 120
    values = [(start + n // 4, int(rng.paretovariate(0.3)) % 5000) for n in range(4 * 6200)]
    query = mt.Query(
        name="q",
        window=mt.hopping(f"{size} seconds", every=f"{step} seconds"),
        aggregates=aggregates,
        time="timestamp_seconds(t)",
    )
    frame = spark.createDataFrame(values, "t LONG, v LONG").coalesce(2)
    with mt.run(mt.plan(query, strategy="shared", approximate=True), frame) as results:
        assert not results.plan.plain_queries
        rows = results["q"].selectExpr("unix_seconds(window.start) AS begin", *columns).collect()
    assert len(rows) > 1000
    for row in rows:
        first = max(0, 4 * (row.begin - start))
        yield row, [v for _, v in values[first : 4 * (row.begin + size - start)]]


def read_kll(image, kind):
    """The levels of a sketch, its least and greatest value, and how many values it is of."""
    words, version, family, flags, k, m = struct.unpack_from("<BBBBHB", image)
    assert (family, m) == (15, 8)
    letter, size = FORMATS[kind], np.dtype(kind).itemsize
    if words == 2 and version == 1:
        assert (len(image), flags) == (8, 1)
        return [], None, 0
    if words == 2:
        assert (version, len(image), flags) == (2, 8 + size, 4)
        (item,) = struct.unpack_from(f"<{letter}", image, 8)
        return [[item]], (item, item), 1
    assert (words, version, flags) == (5, 1, 2)
    n, least_k, height = struct.unpack_from("<qHB", image, 8)
    assert least_k == k
    capacities = [max(8, round(k * (2 / 3) ** (height - 1 - level))) for level in range(height)]
    edges = [*struct.unpack_from(f"<{height}i", image, 20), sum(capacities)]
    first = 20 + 4 * height
    low, high, *items = struct.unpack_from(f"<{2 + edges[-1] - edges[0]}{letter}", image, first)
    assert len(image) == first + size * (2 + len(items))
    levels = [
        items[edges[level] - edges[0] : edges[level + 1] - edges[0]] for level in range(height)
    ]
    assert all(len(level) <= most for level, most in zip(levels, capacities, strict=True))
    assert sum(len(level) << index for index, level in enumerate(levels)) == n
    return levels, (low, high), n
