"""Sketches of slices merged into windows: Spark's own bytes, or within the error of the sketch."""

import math
import random

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from muntin.model.aggregates.table import FUNCTIONS
from tests.support.answers import plain
from tests.support.sketches import COUNTED

WINDOWS = [
    mt.tumbling("1 minute"),
    mt.tumbling("5 minutes"),
    mt.hopping("10 minutes", every="1 minute"),
]
# Sketches whose bytes follow from sets of values, as Spark's, to the last bit.
BYTES = {
    "bitmap": mt.bitmap_construct_agg("v % 32768"),
    "few": mt.bitmap_construct_agg("CAST(v % 9 AS TINYINT)", where="v > 1000"),
    "bits": mt.bitmap_or_agg("bits"),
    "common": mt.bitmap_and_agg("bits"),
    "short": mt.bitmap_and_agg("CAST(concat('abc', substr(v, 1, 1)) AS BINARY)", where="v > 9"),
    "counts": mt.count_min_sketch("v", 0.05, 0.9375, 42),
    "negative": mt.count_min_sketch("CAST(-v AS INT)", 0.3, 0.5, -7, where="v % 3 = 0"),
    "words": mt.count_min_sketch("concat('wörter ', v % 100)", 0.01, 0.99, 1),
    "runs": mt.count_min_sketch("unhex(hex(v))", 0.1, 0.75, 1 << 33),
}
# Sketches whose merged bytes are Spark's, to the last bit; sixteen entries are too few for most.
EXACT = {
    "theta": mt.theta_sketch_agg("v"),
    "small_theta": mt.theta_sketch_agg("v", 4),
    "text_theta": mt.theta_sketch_agg("CAST(v AS STRING)", 5),
    "some_theta": mt.theta_sketch_agg("v", 4, where="v % 3 = 0"),
    "united": mt.theta_union_agg("theta"),
    "narrow": mt.theta_union_agg("theta", 4),
    "crossed": mt.theta_intersection_agg("theta"),
    "crossed_some": mt.theta_intersection_agg("theta", where="v % 5 = 0"),
}
BOUNDED = {
    "hll": mt.hll_sketch_agg("v"),
    "hll_of_hlls": mt.hll_union_agg("hll"),
    "kll_of_klls": mt.kll_merge_agg_bigint("kll"),
    "double_of_klls": mt.kll_merge_agg_double("kll_double"),
    "float_of_klls": mt.kll_merge_agg_float("kll_float"),
}


@pytest.fixture(scope="module")
def data(spark):
    """Some thousand values, each with sketches of a few values beside it."""
    rng = random.Random(8)
    rows = [
        (
            1_700_000_000_000_000 + rng.randrange(1200_000_000),
            rng.choice(["a", "b"]),
            None if rng.random() < 0.05 else rng.randrange(1 << rng.choice([5, 20])),
        )
        for _ in range(6000)
    ]
    frame = spark.createDataFrame(rows, "t LONG, device STRING, v LONG").coalesce(2)
    few = frame.groupBy("device", (F.col("t") / 5_000_000).cast("long").alias("five")).agg(
        F.expr("theta_sketch_agg(v, 8)").alias("theta"),
        F.expr("hll_sketch_agg(v)").alias("hll"),
        F.expr("bitmap_construct_agg(v % 400)").alias("bits"),
        F.expr("kll_sketch_agg_bigint(v)").alias("kll"),
        F.expr("kll_sketch_agg_double(v / 2)").alias("kll_double"),
        F.expr("kll_sketch_agg_float(CAST(v AS FLOAT))").alias("kll_float"),
    )
    made = frame.withColumn("five", (F.col("t") / 5_000_000).cast("long"))
    made = made.join(few, ["device", "five"]).selectExpr("timestamp_micros(t) AS ts", "*")
    made = made.coalesce(2).cache()
    yield made
    made.unpersist()


def queries(aggregates, windows=WINDOWS):
    return [
        mt.Query(name=f"q{index}", window=window, aggregates=aggregates, keys=["device"], time="ts")
        for index, window in enumerate(windows)
    ]


def test_every_sketch_is_tested():
    sketches = (*BYTES.values(), *EXACT.values(), *BOUNDED.values(), *COUNTED.values())
    assert {one.function for one in sketches} == {
        name
        for name, row in FUNCTIONS.items()
        if row.is_spark_only or row.result in ("bytes", "items", "state")
    }
    assert all(not one.definition.is_bounded for one in (*BYTES.values(), *EXACT.values()))
    assert all(one.definition.is_bounded for one in (*BOUNDED.values(), *COUNTED.values()))


@pytest.mark.parametrize("sketches", [BYTES, EXACT], ids=["sets", "merged"])
def test_exact_sketches_have_sparks_bytes(data, sketches):
    asked = queries(sketches)
    with mt.run(mt.plan(asked, strategy="shared"), data) as results:
        assert not results.plan.plain
        assert len(results.plan.trees) == 1
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            assert found.schema == expected.schema
            ours = {(row.device, row.window): row for row in found.collect()}
            theirs = {(row.device, row.window): row for row in expected.collect()}
            assert ours == theirs
            assert theirs


# What is told of a sketch, as numbers: estimates, and ranks of a few values.
TOLD = {
    "distinct": "hll_sketch_estimate(hll)",
    "of_hlls": "hll_sketch_estimate(hll_of_hlls)",
    "n": "kll_sketch_get_n_bigint(kll_of_klls)",
    "merged": "kll_sketch_get_rank_bigint(kll_of_klls, 500000)",
    "merged_double": "kll_sketch_get_rank_double(double_of_klls, 250000D)",
    "merged_float": "kll_sketch_get_rank_float(float_of_klls, CAST(300000 AS FLOAT))",
}


def test_others_are_within_their_bounds(data):
    asked = queries(BOUNDED)
    windows = 0
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            assert [f.dataType for f in found.schema] == [f.dataType for f in expected.schema]
            told = [f"{sql} AS {name}" for name, sql in TOLD.items()]
            ours, theirs = (
                {
                    (row.device, row.window): row
                    for row in frame.selectExpr("device", "window", *told).collect()
                }
                for frame in (found, expected)
            )
            assert ours.keys() == theirs.keys()
            windows += len(theirs)
            for key, row in theirs.items():
                for name in TOLD:
                    one, other = ours[key][name], row[name]
                    if name in ("distinct", "of_hlls"):
                        # Both are off by 1.04 / sqrt(4096) of a standard deviation, or less.
                        assert math.isclose(one, other, rel_tol=6 * 1.04 / 64), (name, key)
                    elif isinstance(one, float):
                        # Both are off by 1.65 percent in 99 of 100 cases.
                        assert abs(one - other) < 0.06, (name, key)
                    else:
                        assert one == other, (name, key)
    assert windows > 50


def test_a_thousand_windows_are_within_the_documented_bounds(spark):
    """Sketches that are small beside their windows, against the values themselves."""
    rng = random.Random(4)
    start, step, size = 1_700_000_040, 6, 120
    values = [(start + n // 4, int(rng.paretovariate(0.3)) % 5000) for n in range(4 * 6200)]
    frame = spark.createDataFrame(values, "t LONG, v LONG").coalesce(2)
    query = mt.Query(
        name="q",
        window=mt.hopping(f"{size} seconds", every=f"{step} seconds"),
        aggregates={"hll": mt.hll_sketch_agg("v", 8)},
        time="timestamp_seconds(t)",
    )
    errors, windows = [], 0
    with mt.run(mt.plan(query, strategy="shared", approximate=True), frame) as results:
        assert not results.plan.plain
        told = results["q"].selectExpr(
            "unix_seconds(window.start) AS begin",
            "hll_sketch_estimate(hll) AS distinct",
        )
        for row in told.collect():
            first = max(0, 4 * (row.begin - start))
            held = [v for _, v in values[first : 4 * (row.begin + size - start)]]
            windows += 1
            errors.append(row.distinct / len(set(held)) - 1)
    assert windows > 1000
    # The root of the mean square is the standard error. Windows overlap, so that it varies, too.
    assert math.sqrt(sum(error**2 for error in errors) / windows) < 1.25 * 1.04 / math.sqrt(256)
    assert max(map(abs, errors)) < 5 * 1.04 / math.sqrt(256)


def test_approximate_percentiles_are_exact_ones(data):
    asked = queries(
        {
            "half": mt.approx_percentile("v", 0.5),
            "many": mt.approx_percentile("v", [0.1, 0.99], 1000),
            "all": mt.collect_set("struct(ts, v)"),
        }
    )
    assert len(mt.plan(asked).plain) == len(asked)
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            assert found.schema == expected.schema
            for row in found.collect():
                values = [pair.v for pair in row["all"] if pair.v is not None]
                for part, answer in ((0.5, row.half), (0.1, row.many[0]), (0.99, row.many[1])):
                    rank = part * len(values)
                    assert sum(value < answer for value in values) <= rank
                    assert sum(value <= answer for value in values) >= rank


def test_without_approximate_they_are_left_to_spark(spark, data):
    for name, aggregate in (*BOUNDED.items(), *COUNTED.items()):
        plan = mt.plan(queries({name: aggregate}))
        assert [query.name for query in plan.plain] == ["q0", "q1", "q2"]
        assert "approximate=True" in plan.plain[0].reason
        assert str(aggregate) in plan.explain()
    data.createOrReplaceTempView("sketched")
    text = """
      SELECT device, window, hll_sketch_estimate(hll_sketch_agg(v, 10)) AS n, count(*) AS c
      FROM sketched GROUP BY device, window(ts, '5 minutes', '1 minute')
    """
    (query,) = mt.parse_sql(text)
    with mt.run([query], data) as exact, mt.run([query], data, approximate=True) as near:
        assert exact.plan.plain
        assert not near.plan.plain
        theirs = {(row.device, row.window): row for row in spark.sql(text).collect()}
        ours = {(row.device, row.window): row for row in near[query.name].collect()}
        assert ours.keys() == theirs.keys()
        for key, row in ours.items():
            assert row.c == theirs[key].c
            assert math.isclose(row.n, theirs[key].n, rel_tol=6 * 1.04 / 32)
    frame = data.groupBy("device", F.window("ts", "5 minutes", "1 minute")).agg(
        F.expr("theta_sketch_estimate(theta_sketch_agg(v, 6))").alias("n"),
        F.hll_sketch_agg("v", 12).alias("h"),
    )
    assert mt.share({"f": frame}).plan.plain
    shared = mt.share({"f": frame}, approximate=True)
    assert not shared.plan.plain
    assert sorted(map(str, shared["f"].select("device", "window", "n").collect())) == sorted(
        map(str, frame.select("device", "window", "n").collect())
    )


def test_a_position_outside_of_a_bitmap_is_an_error(data):
    (query,) = queries({"bitmap": mt.bitmap_construct_agg("v")}, WINDOWS[:1])
    with mt.run([query], data) as results:
        for frame in (results["q0"], plain(query, data)):
            with pytest.raises(Exception, match=r"INVALID_BITMAP_POSITION.*\d is out of bounds"):
                frame.collect()


def test_sketches_whose_table_is_not_written_out_are_left_to_spark():
    (query,) = mt.parse_sql(
        "SELECT count_min_sketch(v, 1D / 3, 0.5D, 1) AS s FROM r GROUP BY window(ts, '1 minute')"
    )
    assert isinstance(query, mt.PlainQuery)
    assert "not written as numbers" in query.reason


def test_streams_refuse_them_by_name(spark, tmp_path):
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS v")
    for aggregate in (EXACT["theta"], BOUNDED["hll"]):
        query = mt.Query(name="sketch", window=WINDOWS[0], aggregates={"x": aggregate}, time="ts")
        for approximate in (False, True):
            with pytest.raises(RunError, match="'sketch'"):
                mt.start(
                    [query],
                    stream,
                    checkpoint=tmp_path / "check",
                    sink=tmp_path / "out",
                    approximate=approximate,
                )
    assert not (tmp_path / "check").exists()
