"""Sketches of values with their counts beside the values themselves, and read by Spark."""

import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter

import numpy as np
import pytest
from pyspark.sql import functions as F

import muntin as mt
from tests.support.answers import plain
from tests.support.sketches import COUNTED, over_a_thousand_windows

# All values beside the sketches, to compare with.
ASKED = {
    **COUNTED,
    "vs": mt.collect_list("v"),
    "xs": mt.collect_list("x"),
    "pairs": mt.collect_list("CASE WHEN v > 9 THEN coalesce(x, -77) END"),
    "holes": mt.count_if("v IS NULL"),
}
WINDOWS = {
    "minute": mt.tumbling("1 minute"),
    "hopping": mt.hopping("10 minutes", every="2 minutes"),
    "sessions": mt.session("2 seconds"),
    "rows": mt.count_window(400, every=200),
}
# The bounds of KLL for one rank, in 99 of 100 cases; compiled sketches stay within 1 / k.
BOUND = {8: 0.31, 40: 0.064, 200: 0.0133}
RANKS = [0.0, 0.1, 0.5, 0.99, 1.0]


@pytest.fixture(scope="module")
def data(spark):
    rng = random.Random(8)
    odd = [None, math.nan, 0.0, -0.0, math.inf, -math.inf]
    rows = [
        (
            1_700_000_000_000_000 + rng.randrange(1200_000_000),
            rng.choice(["a", "b"]),
            None if rng.random() < 0.05 else rng.randrange(1 << rng.choice([5, 20])),
            rng.choice(odd) if rng.random() < 0.2 else rng.gauss(0, 4),
        )
        for _ in range(3000)
    ]
    frame = spark.createDataFrame(rows, "t LONG, device STRING, v LONG, x DOUBLE")
    frame = frame.selectExpr("timestamp_micros(t) AS ts", "*").coalesce(2).cache()
    yield frame
    frame.unpersist()


def asked(names, aggregates=ASKED):
    return {
        name: mt.Query(
            name=name, window=WINDOWS[name], aggregates=aggregates, keys=["device"], time="ts"
        )
        for name in names
    }


def told(kind, sketch):
    """What Spark reads from a sketch: quantiles, the ranks of a few values, how many they are."""
    numbers = f"array({', '.join(map(repr, RANKS))})"
    values = "array(0, 30, 1000, 500000)" if kind == "bigint" else "array(-4, 0, 0.5, 9)"
    values = f"CAST({values} AS ARRAY<{kind}>)"
    count = f"kll_sketch_get_n_{kind}({sketch})"
    if_any = f"CASE WHEN {count} > 0 THEN"
    numbers = f"CAST({numbers} AS ARRAY<DOUBLE>)"
    return (
        f"struct({count} AS n, "
        f"{if_any} kll_sketch_get_quantile_{kind}({sketch}, {numbers}) END AS quantiles, "
        f"{if_any} kll_sketch_get_rank_{kind}({sketch}, {values}) END AS ranks, "
        f"{values} AS asked)"
    )


SKETCHES = {
    "kll": ("bigint", 200),
    "kll_small": ("bigint", 8),
    "kll_double": ("double", 40),
    "kll_float": ("float", 200),
}


def values_of(row, name):
    """What a sketch of a row is made of."""
    if name == "kll":
        return sorted(row.vs)
    if name == "kll_small":
        return sorted(v for v in row.vs if v % 3 == 0)
    numbers = sorted(x for x in row.xs if not math.isnan(x))
    return numbers if name == "kll_double" else [float(np.float32(x)) for x in numbers]


def assert_told(said, values, bound):
    assert said.n == len(values)
    if not values:
        assert said.quantiles is None
        return
    assert (said.quantiles[0], said.quantiles[-1]) == (values[0], values[-1])
    for rank, quantile in zip(RANKS, said.quantiles, strict=True):
        below = bisect_left(values, quantile) / len(values)
        up_to = bisect_right(values, quantile) / len(values)
        assert below - bound <= rank <= up_to + bound
    for value, rank in zip(said.asked, said.ranks, strict=True):
        assert abs(rank - bisect_right(values, value) / len(values)) <= bound


def counted(items):
    """Values with their counts, in order: zeros are told apart, and NaN is NaN."""
    return [(repr(each["item"]), each["count"]) for each in items]


def top(values, nulls, k):
    counts = Counter(values)
    order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    order += [(None, nulls)] if nulls else []
    return [(repr(item), n) for item, n in sorted(order, key=lambda pair: -pair[1])][:k]


def test_answers_are_those_of_all_values(data):
    queries = asked(WINDOWS)
    plan = mt.plan([*queries.values()], strategy="shared", approximate=True)
    rows = Counter()
    columns = {name: told(kind, name) for name, (kind, _) in SKETCHES.items()}
    for name, most in (("state", 50), ("state_few", 9), ("state_text", 50)):
        columns[name] = f"approx_top_k_estimate({name}, {most})"
    kept = [f"{sql} AS {name}" for name, sql in columns.items()]
    kept += [name for name in ASKED if name not in columns]
    with mt.run(plan, data) as results:
        assert not results.plan.plain_queries
        for name, query in queries.items():
            if name != "rows":
                assert results[name].schema == plain(query, data).schema
            for row in results[name].selectExpr(*kept).collect():
                rows[name] += 1
                assert_row(row)
    assert min(rows[name] for name in WINDOWS) >= 4


def assert_row(row):
    for name, (_, k) in SKETCHES.items():
        assert_told(row[name], values_of(row, name), 1 / k)
    sevens, texts = [v % 7 for v in row.vs], [f"é{v % 5}" for v in row.vs]
    assert counted(row.top) == top(sevens, row.holes, 3)
    assert counted(row.top_text) == top(texts, row.holes, 100)
    # The order of Spark's estimate is not determined where values tie.
    assert sorted(counted(row.state)) == sorted(top(sevens, row.holes, 50))
    assert sorted(counted(row.state_text)) == sorted(top(texts, row.holes, 50))
    # Its counts are exact, though it has only some of the values.
    assert set(counted(row.state_few)) <= set(top(row.vs, row.holes, 10_000))
    # Null was counted under a value of its own.
    order = sorted(
        Counter(map(repr, row.pairs)).items(), key=lambda pair: (-pair[1], pair[0] == "-77.0")
    )
    first = counted(row.top_float)
    assert [n for _, n in first] == [n for _, n in order[:4]]
    assert {item.replace("None", "-77.0"): n for item, n in first}.items() <= dict(order).items()


def test_spark_merges_them_with_its_own(data):
    (query,) = asked(["hopping"]).values()
    with mt.run(mt.plan(query, strategy="shared", approximate=True), data) as results:
        both = (
            results["hopping"]
            .alias("ours")
            .join(plain(query, data).alias("theirs"), ["device", "window"])
        )
        columns = {}
        for name, (kind, _) in SKETCHES.items():
            merged = f"kll_sketch_merge_{kind}(ours.{name}, theirs.{name})"
            columns[name] = told(kind, merged)
        rows = both.selectExpr(
            *(f"{sql} AS {name}" for name, sql in columns.items()), "ours.vs AS vs", "ours.xs AS xs"
        ).collect()
        assert len(rows) > 10
        for row in rows:
            for name, (_, k) in SKETCHES.items():
                # Three times the bound, which holds in 99 of 100 cases.
                values = sorted(2 * values_of(row, name))
                assert_told(row[name], values, 3 * BOUND[k])
        together = results["hopping"].unionByName(plain(query, data)).groupBy("device", "window")
        for row in together.agg(
            F.expr("kll_sketch_get_n_double(kll_merge_agg_double(kll_double))").alias("n"),
            F.expr("approx_top_k_estimate(approx_top_k_combine(state), 8)").alias("state"),
            F.expr("approx_top_k_estimate(approx_top_k_combine(state_text), 8)").alias("texts"),
            F.first("top_text").alias("top_text"),
            F.first("vs").alias("vs"),
            F.first("xs").alias("xs"),
            F.first("holes").alias("holes"),
        ).collect():
            assert row.n == 2 * len(values_of(row, "kll_double"))
            sevens, texts = [v % 7 for v in row.vs], [f"é{v % 5}" for v in row.vs]
            assert sorted(counted(row.state)) == sorted(top(2 * sevens, 2 * row.holes, 8))
            assert sorted(counted(row.texts)) == sorted(top(2 * texts, 2 * row.holes, 8))


def test_of_one_value_or_none_they_are_sparks_bytes(data):
    where = {"none": "x > 1e300 AND x < 1e301", "same": "v = 1", "missing": "v IS NULL"}
    aggregates = {
        f"{name}_{function.__name__}": function(of, where=condition)
        for name, condition in where.items()
        for function, of in (
            (mt.kll_sketch_agg_bigint, "CASE WHEN ts = TIMESTAMP'2023-11-14' THEN v END"),
            (mt.kll_sketch_agg_double, "CASE WHEN v IS NULL THEN double('NaN') END"),
            (mt.approx_top_k, "v"),
            (mt.approx_top_k_accumulate, "v"),
            (mt.approx_top_k_accumulate, "CAST(v AS SMALLINT)"),
            (mt.approx_top_k_accumulate, "CAST(v AS DECIMAL(7, 2))"),
        )
    }
    once = f"t = {data.where('v IS NOT NULL').first().t}"
    aggregates["single"] = mt.kll_sketch_agg_float("CAST(v AS FLOAT)", where=once)
    (query,) = asked(["minute"], aggregates).values()
    with mt.run(mt.plan(query, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain_queries
        ours, theirs = (
            {(row.device, row.window): row for row in frame.collect()}
            for frame in (results["minute"], plain(query, data))
        )
        assert ours == theirs
        assert len(theirs) > 30


def test_a_thousand_windows_are_within_the_documented_bounds(spark):
    """Sketches that are small beside their windows."""
    small = {"kll": mt.kll_sketch_agg_bigint("v", 20), "top": mt.approx_top_k("v", 5, 16)}
    rank = "kll_sketch_get_rank_bigint(kll, 40) AS rank"
    for row, held in over_a_thousand_windows(spark, small, rank, "top"):
        assert abs(row.rank - sum(v <= 40 for v in held) / len(held)) <= 1 / 20
        assert counted(row.top) == top(held, 0, 5)


def test_parameters_that_are_not_written_as_numbers_are_left_to_spark():
    for call in (
        "kll_sketch_agg_bigint(v, 4 * 50)",
        "approx_top_k(v, 2 + 1)",
        "approx_top_k(v, 30, 20)",
        "approx_top_k_accumulate(v, 0)",
    ):
        (query,) = mt.parse_sql(f"SELECT {call} AS s FROM r GROUP BY window(ts, '1 minute')")
        assert isinstance(query, mt.PlainQuery)
        assert "whole number" in query.reason
