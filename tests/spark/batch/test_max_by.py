"""`max_by` and `min_by` from slices: values of every type, chosen by every type."""

import random

import pytest
from pyspark.sql import functions as F

import muntin as mt
from tests.support.answers import plain

WINDOWS = [
    mt.tumbling("1 minute"),
    mt.hopping("5 minutes", every="1 minute"),
    mt.hopping("17 minutes", every="3 minutes"),
]
# Distinct for distinct values of u, and null for some.
ORDERS = {
    "long": "u",
    "double": "IF(u = 7, double('NaN'), u / -8D)",
    "float": "CAST(u % 100000 AS FLOAT)",
    "text": "CAST(u AS STRING)",
    "decimal": "CAST(u AS DECIMAL(20, 2)) / 4",
    "instant": "timestamp_micros(u * 1000)",
    "day": "date_from_unix_date(CAST(u % 100000 AS INT))",
    "bytes": "CAST(CAST(u AS STRING) AS BINARY)",
    "gap": "make_dt_interval(0, 0, 0, u)",
    "nothing": "CAST(NULL AS INT)",
}
VALUES = {
    "v": "v",
    "text": "IF(v % 3 = 0, NULL, CAST(v AS STRING))",
    "double": "IF(v = 5, double('NaN'), IF(v = 6, -0.0D, v / 2))",
    "float": "CAST(v / 3 AS FLOAT)",
    "flag": "v > 500",
    "small": "CAST(v % 100 AS TINYINT)",
    "decimal": "CAST(v AS DECIMAL(12, 3))",
    "instant": "timestamp_micros(v)",
    "list": "array(v, v + 1)",
    "pair": "struct(v, CAST(v AS STRING) AS t)",
}


@pytest.fixture(scope="module")
def data(spark):
    rng = random.Random(4)
    order = rng.sample(range(100_000), 1500)
    rows = [
        (
            1_700_000_000_000_000 + rng.randrange(2400_000_000),
            rng.choice(["a", "b", None]),
            None if rng.random() < 0.1 else u,
            None if rng.random() < 0.1 else rng.randrange(1000),
        )
        for u in order
    ]
    frame = spark.createDataFrame(rows, "t LONG, device STRING, u LONG, v LONG")
    frame = frame.selectExpr("timestamp_micros(t) AS ts", "*").coalesce(2).cache()
    yield frame
    frame.unpersist()


def queries(aggregates, keys):
    return [
        mt.Query(name=f"q{index}", window=window, aggregates=aggregates, keys=keys, time="ts")
        for index, window in enumerate(WINDOWS)
    ]


def calls():
    found = {f"by_{name}": mt.max_by("v", sql) for name, sql in ORDERS.items()}
    found |= {f"of_{name}": mt.min_by(sql, "u") for name, sql in VALUES.items()}
    return found | {"some": mt.max_by("v", "u", where="v % 2 = 0"), "n": mt.count()}


@pytest.mark.parametrize(
    ("keys", "strategy"),
    [
        (["device"], "shared"),
        pytest.param({"device": "device COLLATE UTF8_LCASE"}, "shared", marks=pytest.mark.slow),
        pytest.param([], "auto", marks=pytest.mark.slow),
    ],
    ids=["compiled", "native", "auto"],
)
def test_every_type(data, keys, strategy):
    asked = queries(calls(), keys)
    with mt.run(mt.plan(asked, strategy=strategy), data) as results:
        assert not results.plan.plain_queries
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            assert found.schema == expected.schema
            assert sorted(map(str, found.collect())) == sorted(map(str, expected.collect()))


def test_passes_of_the_slicer_and_sql(spark, data):
    # Other keys and filters, so that the slicer makes the slices of all.
    asked = [
        mt.Query(
            name=f"k{index}",
            window=window,
            aggregates={
                "m": mt.max_by("CAST(v AS STRING)", "u"),
                "n": mt.min_by("v", "CAST(u AS STRING)"),
            },
            keys=keys,
            where=where,
            time="ts",
        )
        for index, (window, keys, where) in enumerate(
            (window, keys, where)
            for window in WINDOWS[:2]
            for keys in ([], ["device"], ["v"], ["device", "v"])
            for where in (None, "v > 300", "v % 2 = 0")
        )
    ]
    data.createOrReplaceTempView("data")
    with mt.run(mt.plan(asked, rate=1000, keys=3), data) as results:
        assert not results.plan.plain_queries
        for query in asked[::5]:
            expected = sorted(map(str, plain(query, data).collect()))
            assert sorted(map(str, results[query.name].collect())) == expected
            assert sorted(map(str, spark.sql(results.to_sql(query.name)).collect())) == expected


def test_of_equal_ones_some_value_is_chosen(data):
    frame = data.groupBy("device", F.window("ts", "5 minutes", "1 minute")).agg(
        F.max_by("v", F.col("u") % 3).alias("m"), F.max(F.col("u") % 3).alias("most")
    )
    found = mt.share({"f": frame})
    assert not found.plan.plain_queries
    candidates = data.selectExpr(
        "device", "explode(sequence(0, 4)) AS back", "ts", "v", "u % 3 AS r"
    ).selectExpr(
        "device", "date_trunc('minute', ts) - make_dt_interval(0, 0, back, 0) AS at", "v", "r"
    )
    allowed = candidates.groupBy("device", "at", "r").agg(
        F.collect_set(F.coalesce("v", F.lit(-1))).alias("values")
    )
    allowed = {(row.device, row.at, row.r): row["values"] for row in allowed.collect()}
    rows = found["f"].collect()
    assert rows
    for row in rows:
        if row.most is not None:
            value = -1 if row.m is None else row.m
            assert value in allowed[row.device, row.window.start, row.most]
