"""Sketches of slices merged into windows: Spark's own bytes, or within the error of the sketch."""

import math
import random

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.aggregates.table import FUNCTIONS
from muntin.errors import RunError
from tests.support.answers import plain
from tests.support.sketches import COUNTED, over_a_thousand_windows

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
# The same of hashes; sixteen entries are too few for most.
EXACT = {
    "theta": mt.theta_sketch_agg("v"),
    "small_theta": mt.theta_sketch_agg("v", 4),
    "text_theta": mt.theta_sketch_agg("CAST(v AS STRING)", 5),
    "some_theta": mt.theta_sketch_agg("v", 4, where="v % 3 = 0"),
    "no_theta": mt.theta_sketch_agg("v", where="v < 0"),
    "rare_theta": mt.theta_sketch_agg("CAST(v AS INT)", where="v % 97 = 0"),
    "double_theta": mt.theta_sketch_agg(
        "CASE v % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D ELSE v / 3 END"
    ),
    "float_theta": mt.theta_sketch_agg("CAST(v / 7 AS FLOAT)", 6),
    "odd_text_theta": mt.theta_sketch_agg("substr('wörter, länger als sechzehn', v % 30)", 4),
    "bytes_theta": mt.theta_sketch_agg("unhex(hex(v % 99))", where="v > 9"),
    "united": mt.theta_union_agg("theta"),
    "narrow": mt.theta_union_agg("theta", 4),
    "crossed": mt.theta_intersection_agg("theta"),
    "crossed_some": mt.theta_intersection_agg("theta", where="v % 5 = 0"),
    "crossed_no": mt.theta_intersection_agg("theta", where="v < 0"),
    "united_no": mt.theta_union_agg("theta", where="v < 0"),
}
# Sketches whose estimates are within an error of Spark's, and those that only Spark merges.
ESTIMATED = {
    "hll": mt.hll_sketch_agg("v"),
    "small_hll": mt.hll_sketch_agg("v", 4),
    "large_hll": mt.hll_sketch_agg("v", 20),
    "text_hll": mt.hll_sketch_agg("substr(concat('wörter ', v), v % 40)", 8),
    "bytes_hll": mt.hll_sketch_agg("unhex(hex(CAST(v AS INT)))"),
    "no_hll": mt.hll_sketch_agg("v", where="v < 0"),
    "few_hll": mt.hll_sketch_agg("v % 5"),
    "hll_of_hlls": mt.hll_union_agg("hll"),
    "some_of_hlls": mt.hll_union_agg("hll", True, where="v % 5 = 0"),
    "none_of_hlls": mt.hll_union_agg("hll", where="v < 0"),
}
BOUNDED = {
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
    bounded = (*ESTIMATED.values(), *BOUNDED.values(), *COUNTED.values())
    sketches = (*BYTES.values(), *EXACT.values(), *bounded)
    assert {one.function for one in sketches} == {
        name for name, row in FUNCTIONS.items() if row.result in ("bytes", "items", "state")
    }
    assert all(not one.definition.is_approximate for one in (*BYTES.values(), *EXACT.values()))
    assert all(one.definition.is_approximate for one in bounded)


@pytest.mark.parametrize("sketches", [BYTES, EXACT], ids=["counts", "hashes"])
def test_exact_sketches_have_sparks_bytes(data, sketches):
    asked = queries(sketches)
    with mt.run(mt.plan(asked, strategy="shared"), data) as results:
        assert not results.plan.plain_queries
        assert len(results.plan.trees) == 1
        for query in asked:
            found, expected = results[query.name], plain(query, data)
            assert found.schema == expected.schema
            ours = {(row.device, row.window): row for row in found.collect()}
            theirs = {(row.device, row.window): row for row in expected.collect()}
            assert ours == theirs
            assert theirs


def test_estimates_are_within_their_bounds(data):
    """Those of our sketches, and of Spark's own union of them with its sketches."""
    asked = queries(ESTIMATED)
    windows = 0
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain_queries
        for query in asked:
            expected = plain(query, data)
            found = results[query.name]
            assert found.schema == expected.schema
            theirs = expected.selectExpr("*", "struct(*) AS t").drop(*ESTIMATED)
            told = [
                f"hll_sketch_estimate({sketch}) AS {name}_{index}"
                for name in ESTIMATED
                for index, sketch in enumerate((name, f"t.{name}", f"hll_union({name}, t.{name})"))
            ]
            both = found.join(theirs, ["window", "device"], "full").selectExpr(*told)
            for row in both.collect():
                windows += 1
                for name, aggregate in ESTIMATED.items():
                    ours, spark, union = (row[f"{name}_{index}"] for index in range(3))
                    assert ours is not None
                    bits = int((*aggregate.parameters, "12")[0]) if "of" not in name else 12
                    # Both are off by 1.04 / sqrt(2 ** bits) of a standard deviation, or less.
                    bound = 6 * 1.04 / math.sqrt(1 << bits)
                    assert math.isclose(ours, spark, rel_tol=bound), (name, ours, spark)
                    assert math.isclose(union, spark, rel_tol=bound), (name, union, spark)
                    if spark < (25 if bits > 8 else 8):
                        assert ours == spark == union, name
    assert windows > 50


def test_sessions_have_the_sketches_of_their_values(data):
    hashes = {**EXACT, "estimated": mt.hll_sketch_agg("v"), "of_all": mt.hll_union_agg("hll")}
    asked = queries(hashes, [mt.session("1 second"), mt.session("700 milliseconds")])
    # A session has few values, and estimates of few values are exact.
    told = {
        **{name: name for name in EXACT},
        **{name: f"hll_sketch_estimate({name})" for name in ("estimated", "of_all")},
    }
    columns = ["device", "window", *(f"{sql} AS {name}" for name, sql in told.items())]
    with mt.run(asked, data, approximate=True) as results:
        assert not results.plan.plain_queries
        for query in asked:
            theirs = sorted(plain(query, data).selectExpr(*columns).collect())
            assert sorted(results[query.name].selectExpr(*columns).collect()) == theirs
            assert len(theirs) > 20


# What is told of a sketch, as numbers: ranks of a few values, and how often some occur.
TOLD = {
    "n": "kll_sketch_get_n_bigint(kll_of_klls)",
    "merged": "kll_sketch_get_rank_bigint(kll_of_klls, 500000)",
    "merged_double": "kll_sketch_get_rank_double(double_of_klls, 250000D)",
    "merged_float": "kll_sketch_get_rank_float(float_of_klls, CAST(300000 AS FLOAT))",
}


def test_others_are_within_their_bounds(data):
    asked = queries(BOUNDED)
    windows = 0
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain_queries
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
                    if isinstance(one, float):
                        # Both are off by 1.65 percent in 99 of 100 cases.
                        assert abs(one - other) < 0.06, (name, key)
                    else:
                        assert one == other, (name, key)
    assert windows > 50


def test_a_thousand_windows_are_within_the_documented_bounds(spark):
    """Sketches that are small beside their windows, against the values themselves."""
    hll = {"hll": mt.hll_sketch_agg("v", 8)}
    answers = over_a_thousand_windows(spark, hll, "hll_sketch_estimate(hll) AS distinct")
    errors = [row.distinct / len(set(held)) - 1 for row, held in answers]
    # The root of the mean square is the standard error. Windows overlap, so that it varies, too.
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) < 1.25 * 1.04 / math.sqrt(256)
    assert max(map(abs, errors)) < 5 * 1.04 / math.sqrt(256)


def test_approximate_percentiles_are_exact_ones(data):
    asked = queries(
        {
            "half": mt.approx_percentile("v", 0.5),
            "many": mt.approx_percentile("v", [0.1, 0.99], 1000),
            "all": mt.collect_set("struct(ts, v)"),
        }
    )
    assert len(mt.plan(asked).plain_queries) == len(asked)
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain_queries
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
    for name, aggregate in (*ESTIMATED.items(), *BOUNDED.items(), *COUNTED.items()):
        plan = mt.plan(queries({name: aggregate}))
        assert [query.name for query in plan.plain_queries] == ["q0", "q1", "q2"]
        assert "approximate=True" in plan.plain_queries[0].reason
        assert str(aggregate) in plan.explain()
    data.createOrReplaceTempView("sketched")
    text = """
      SELECT device, window, hll_sketch_estimate(hll_sketch_agg(v, 10)) AS n, count(*) AS c
      FROM sketched GROUP BY device, window(ts, '5 minutes', '1 minute')
    """
    (query,) = mt.parse_sql(text)
    with mt.run([query], data) as exact, mt.run([query], data, approximate=True) as near:
        assert exact.plan.plain_queries
        assert not near.plan.plain_queries
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
    assert mt.share({"f": frame}).plan.plain_queries
    shared = mt.share({"f": frame}, approximate=True)
    assert not shared.plan.plain_queries
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


def test_what_is_no_sketch_is_an_error(spark):
    # A theta sketch of one value, and HyperLogLog sketches of one with different lgConfigK.
    frame = spark.sql(
        "SELECT timestamp_seconds(9) AS ts, explode(array(X'0201070C0308010899FFFF04', "
        "X'020107080308010899FFFF04')) AS hll, X'01030300003ACC930102030405060710' AS theta"
    )
    calls = {
        "t": (mt.theta_union_agg("hll"), "THETA_INVALID_INPUT_SKETCH_BUFFER"),
        "i": (mt.theta_intersection_agg("hll"), "THETA_INVALID_INPUT_SKETCH_BUFFER"),
        "h": (mt.hll_union_agg("theta"), "HLL_INVALID_INPUT_SKETCH_BUFFER"),
        "d": (mt.hll_union_agg("hll", "false"), "HLL_UNION_DIFFERENT_LG_K"),
        "k": (mt.kll_merge_agg_double("theta"), "KLL_INVALID_INPUT_SKETCH_BUFFER"),
    }
    asked = [
        mt.Query(name=name, window=WINDOWS[0], aggregates={"sketch": call}, time="ts")
        for name, (call, _) in calls.items()
    ]
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), frame) as results:
        assert not results.plan.plain_queries
        for query in asked:
            for answers in (results[query.name], plain(query, frame)):
                with pytest.raises(Exception, match=calls[query.name][1]):
                    answers.collect()


def test_sizes_that_are_not_written_out_are_left_to_spark():
    calls = {
        "theta_sketch_agg(v, 2 + 2)": "lgNomEntries is a whole number from 4 to 26, not 2 + 2",
        "theta_union_agg(v, 3)": "lgNomEntries is a whole number from 4 to 26, not 3",
        "hll_sketch_agg(v, 22)": "lgConfigK is a whole number from 4 to 21, not 22",
        "hll_union_agg(v, 1 > 0)": "allowDifferentLgConfigK is true or false, not 1 > 0",
    }
    for call, reason in calls.items():
        (query,) = mt.parse_sql(f"SELECT {call} AS s FROM r GROUP BY window(ts, '1 minute')")
        assert isinstance(query, mt.PlainQuery)
        assert reason in query.reason


def test_streams_refuse_them_by_name(spark, tmp_path):
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS v")
    for aggregate in (mt.kll_merge_agg_bigint("v"), mt.theta_sketch_agg("array(v)")):
        query = mt.Query(name="sketch", window=WINDOWS[0], aggregates={"x": aggregate}, time="ts")
        for approximate in (False, True):
            with pytest.raises(RunError, match="'sketch'"):
                mt.start(
                    [query],
                    stream,
                    checkpoint=tmp_path / "check",
                    sink=tmp_path / "out",
                    options=mt.StreamOptions(approximate=approximate),
                )
    assert not (tmp_path / "check").exists()
