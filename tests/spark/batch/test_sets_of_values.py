"""Distinct values and order statistics over many windows: plain Spark's answers to the last bit."""

import math
import random
from datetime import date
from decimal import Decimal

import pytest

import muntin as mt
from tests.support.answers import plain

SCHEMA = """
    t LONG, device STRING, i INT, l LONG, x DOUBLE, f FLOAT, s STRING, d DECIMAL(10, 2), b BOOLEAN,
    day DATE, at TIMESTAMP, raw BINARY, pair STRUCT<a: INT, b: DOUBLE>, list ARRAY<STRING>
"""
WINDOWS = (
    mt.tumbling("1 minute"),
    mt.hopping("5 minutes", every="1 minute"),
    mt.hopping("7 minutes", every="3 minutes"),
    mt.tumbling("10 minutes"),
)
AGGREGATES = {
    "n": mt.count(),
    "mean": mt.avg("i"),
    **{
        f"n_{column}": mt.count_distinct(column)
        for column in (*"ilxfsdb", "day", "at", "raw", "pair", "list", "upper(s)")
    },
    "n_pairs": mt.count_distinct("i", "s"),
    "n_some": mt.count_distinct("s", where="i > 1"),
    "sum_i": mt.sum_distinct("i"),
    "sum_l": mt.sum_distinct("l"),
    "sum_x": mt.sum_distinct("coalesce(nanvl(x, 0D), 0D)"),
    "avg_i": mt.avg_distinct("i"),
    "avg_x": mt.avg_distinct("x", where="i > 0"),
    "median_i": mt.median("i"),
    "median_x": mt.median("x"),
    "p_l": mt.percentile("l", 0.95),
    "p_x": mt.percentile("x", [0.0, 0.1, 0.5, 0.999, 1.0]),
    "p_d": mt.percentile("d", 0.3),
    "p_f": mt.percentile("f", 0.7, where="i > 1"),
    "cont": mt.percentile_cont("x", 0.4, "DESC"),
    "disc": mt.percentile_disc("x", 0.4),
    "disc_desc": mt.percentile_disc("l", [0.07, 0.58], "DESC"),
    **{f"mode_{column}": mt.mode(column) for column in (*"ixsdb", "day", "at", "raw")},
    "mode_desc": mt.mode("s", "DESC"),
}
SETS = {f"set_{column}": mt.collect_set(column) for column in (*"ixsb", "day", "pair", "list")}


@pytest.fixture(scope="module")
def data(spark):
    rng = random.Random(11)
    rows = []
    for device in ("a", "b", "none", None):
        for _ in range(150):
            x = rng.choice([0.0, -0.0, 0.1, 2.5, math.nan, math.inf, rng.uniform(-3, 3), None])
            i = rng.choice([None, -3, 0, 1, 2, 2, 7, 1 << 30])
            s = rng.choice([None, "", "a", "A", "ü", "zebra", "日本"])
            row = (
                1_700_000_000_000_000 + rng.randrange(1_500_000_000),
                device,
                i,
                rng.choice([None, -(1 << 62), (1 << 53) + 1, 1 << 53, 5, 5, 6]),
                x,
                rng.choice([None, 0.1, math.nan, -0.0, 0.0, 7.25]),
                s,
                rng.choice([None, Decimal("0.10"), Decimal("-7.25"), Decimal("99999999.99")]),
                rng.choice([None, True, False]),
                rng.choice([None, date(1969, 1, 1), date(2026, 2, 3)]),
                None,
                rng.choice([None, b"", b"\xff\x00", b"a"]),
                rng.choice([None, (1, 0.0), (1, -0.0), (None, math.nan), (2, 1.0)]),
                rng.choice([None, [], ["a"], ["a", None], ["b", "a"]]),
            )
            rows.append(row if device != "none" else (*row[:2], *([None] * (len(row) - 2))))
    frame = spark.createDataFrame(rows, SCHEMA).drop("at")
    frame = frame.selectExpr(
        "timestamp_micros(t) AS ts", "*", "timestamp_micros(t - pmod(t, 7000000)) AS at"
    )
    frame = frame.coalesce(2).cache()
    yield frame
    frame.unpersist()


def queries(aggregates, keys=("device",)):
    return [
        mt.Query(name=f"q{index}", window=window, aggregates=aggregates, keys=keys, time="ts")
        for index, window in enumerate(WINDOWS)
    ]


def bits(value):
    """A value that is equal to another only where each bit of its floats is.

    Where both zeros occur, Spark does not determine the sign of one.
    """
    if isinstance(value, float):
        return "nan" if math.isnan(value) else abs(value).hex() if value == 0 else value.hex()
    if isinstance(value, list):
        return [bits(each) for each in value]
    return value


def rows_of(frame, query, shown=bits):
    found = {}
    for row in frame.collect():
        key = tuple(row[name] for name in row.asDict() if name not in query.aggregates)
        assert key not in found
        found[key] = {name: shown(row[name]) for name in query.aggregates}
    return found


# Sums of floats depend on their order.
ADDED_UP = ("sum_x", "avg_x")


def assert_close(one, other):
    numbers = [value if value in (None, "nan") else float.fromhex(value) for value in (one, other)]
    if numbers[0] in (None, "nan"):
        assert numbers[0] == numbers[1]
    else:
        assert math.isclose(*numbers, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize(
    "keys", [("device",), pytest.param((), marks=pytest.mark.slow)], ids=["keys", "no keys"]
)
def test_distinct_values_and_order_statistics(data, keys):
    asked = queries(AGGREGATES, keys)
    with mt.run(mt.plan(asked, strategy="shared"), data) as results:
        assert not results.plan.plain_queries
        assert len(results.plan.trees) == 1
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            for one, other in zip(found.schema, expected.schema, strict=True):
                assert one == other
            ours, theirs = rows_of(found, query), rows_of(expected, query)
            assert ours.keys() == theirs.keys()
            assert theirs
            for key, values in theirs.items():
                for name in ADDED_UP:
                    assert_close(ours[key].pop(name), values.pop(name))
                assert ours[key] == values, key


def test_sets_have_the_same_elements(data):
    def as_set(values):
        return sorted(str(bits(value)) for value in values)

    asked = queries(SETS)
    with mt.run(mt.plan(asked, strategy="factor"), data) as results:
        assert not results.plan.plain_queries
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            assert [field.dataType for field in found.schema] == [
                field.dataType for field in expected.schema
            ]
            assert rows_of(found, query, as_set) == rows_of(expected, query, as_set)
