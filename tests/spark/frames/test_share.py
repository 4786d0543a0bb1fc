"""`mt.share` gives the DataFrames that it was given: same schema, same rows, from fewer passes."""

import os

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.comparing import Pair, assert_pairs_equal
from tests.support.examples import SEED
from tests.support.executed_plans import scans
from tests.support.frames import generated

BEYOND = (
    "above its groupBy it has functions that are not Spark's own, or that give other values each "
    "time"
)


def minute():
    return F.window("ts", "1 minute")


def slide():
    return F.window("ts", "2 minutes", "30 seconds")


def shared(frames, **options):
    results = mt.share(frames, **options)
    assert list(results) == list(frames)
    assert_pairs_equal(pairs(frames, results))
    return results


def shared_one_by_one(frames):
    """In one job, Spark takes an exchange of one listing of a folder for that of another."""
    results = mt.share(frames)
    for pair in pairs(frames, results):
        assert_pairs_equal([pair])
    return results


def pairs(frames, results):
    return [
        Pair(name=name, expected=frame, actual=results[name], tolerance=1e-12)
        for name, frame in frames.items()
    ]


def reasons(results):
    return {query.name: query.reason for query in results.plan.plain_queries}


@pytest.mark.core
def test_generated_frames_are_equal_to_themselves(spark, readings):
    count = int(os.environ.get("MUNTIN_FUZZ", "14"))
    for first in range(SEED, SEED + count, 14):
        frames = {f"f{seed}": generated(readings, seed) for seed in range(first, first + 14)}
        results = shared(frames)
        assert set(reasons(results).values()) <= {
            "try_avg(temp) is not built from slices",
            "try_avg((temp + 0.5D)) is not built from slices",
        }
        assert len(results.plan.plain_queries) < len(frames) // 2
        assert len({tree.grouping.relation for tree in results.plan.trees}) == 1


def test_names_and_columns_that_are_hard_to_tell_apart(spark, readings):
    twins = readings.select("ts", "device", F.col("temp").alias("Temp"), F.col("load").alias("x"))
    joined = readings.join(twins, ["ts"]).drop(twins.device)
    odd = readings.select(
        "ts",
        F.col("device").alias("window"),
        F.col("temp").alias("a.b"),
        F.col("load").alias("a`b"),
        F.struct("temp", "load").alias("s"),
    )
    frames = {
        "of the one": joined.groupBy("device", minute()).agg(F.max(readings.temp).alias("m")),
        "of the other": joined.groupBy("device", minute()).agg(F.max(twins.Temp).alias("m")),
        "called window": odd.groupBy("window", minute()).agg(F.sum("`a.b`").alias("window")),
        "quotes": odd.groupBy("`a``b`", slide()).agg(F.sum("s.load"), F.max("`a.b`").alias("a`b")),
        "twice": odd.groupBy(slide()).agg(F.max("s.temp").alias("m"), F.max("`a.b`").alias("m")),
        "no aggregate": odd.groupBy("s.load", minute()).agg(F.count("*")).select("window", "load"),
    }
    assert reasons(shared(frames)) == {}
    with configured(spark, {"spark.sql.caseSensitive": "true"}):
        both = readings.select("ts", "temp", (F.col("temp") + 1).alias("Temp"))
        frames = {
            "temp": both.groupBy(minute()).agg(F.max("temp").alias("m"), F.max("Temp").alias("M")),
            "other": both.filter("Temp > 3").groupBy(slide()).agg(F.max("Temp").alias("m")),
        }
        assert reasons(shared(frames)) == {}


@pytest.mark.core
def test_filters_guard_what_they_guard_in_spark(readings):
    positive = readings.filter("load <> 0")
    numbers = readings.filter("state RLIKE '^[0-4]$'")
    frames = {
        "all": readings.groupBy(minute()).agg(F.sum("load")),
        "argument": positive.groupBy(minute()).agg(F.sum(F.lit(7) / F.col("load")).alias("s")),
        "key": positive.groupBy((F.lit(8) / F.col("load")).alias("k"), slide()).count(),
        "filter": positive.filter("10 / load > 2").groupBy(slide()).count(),
        "added": numbers.withColumn("i", F.col("state").cast("int"))
        .groupBy(slide())
        .agg(F.sum("i")),
        "none": readings.filter("load > 100").groupBy("device", minute()).count(),
    }
    results = shared(frames)
    assert reasons(results) == {}
    assert len({tree.grouping.relation for tree in results.plan.trees}) == 1


def test_what_is_the_same_below_is_read_once(spark, tmp_path, readings):
    readings.coalesce(1).write.parquet(str(tmp_path / "events"))

    def read():
        return spark.read.parquet(str(tmp_path / "events")).filter("load > 1")

    frames = {
        "one": read().groupBy("device", minute()).agg(F.max("temp").alias("m")),
        "two": read().groupBy("device", slide()).agg(F.sum("load"), F.count("*").alias("n")),
        "three": read().withColumn("t", F.col("temp") * 2).groupBy(minute()).agg(F.max("t")),
    }
    results = shared(frames)
    assert (reasons(results), len(results.plan.readings)) == ({}, 1)
    assert scans(results.together()) == 1


@pytest.mark.parametrize("v1_sources", ["avro,csv,json,kafka,orc,parquet,text", ""])
def test_a_folder_that_was_read_before_and_after_files_were_added_is_two(
    spark, tmp_path, readings, v1_sources
):
    def read(name):
        """A read of its own for each of them."""
        windows = {
            "hopping": slide(),
            "short": F.session_window("ts", "1 second"),
            "long": F.session_window("ts", "9 seconds"),
        }
        return {
            f"{kind} {name}": spark.read.parquet(str(tmp_path)).groupBy("device", window).count()
            for kind, window in windows.items()
        }

    with configured(spark, {"spark.sql.sources.useV1SourceList": v1_sources}):
        readings.where("load < 3").coalesce(1).write.parquet(str(tmp_path / "load=1"))
        frames = read("before")
        readings.where("load > 5").coalesce(1).write.parquet(str(tmp_path / "load=2"))
        frames |= read("after")
        results = shared_one_by_one(frames)
        assert (reasons(results), len(results.plan.readings)) == ({}, 2)
        counts = {name: results[name].groupBy().sum("count").first()[0] for name in results}
        results.release()
        together = results.together().groupBy("query").sum("count").collect()
        assert dict(together) == counts
        assert counts["short before"] < counts["short after"]


def test_files_that_were_rewritten_under_their_names_are_others(spark, tmp_path):
    """Spark reads as many bytes as a file had when it was listed."""
    file = tmp_path / "events.csv"
    frames = {}
    for name, count in {"short": 1, "long": 5}.items():
        file.write_text("1970-01-01 00:00:00,7\n" * count)
        events = spark.read.csv(str(tmp_path), schema="ts TIMESTAMP, n INT")
        frames[name] = events.groupBy(minute()).count()
    assert len(shared_one_by_one(frames).plan.readings) == 2


def test_what_is_stored_for_some_frames_answers_no_others(spark, tmp_path, readings):
    doors = readings.selectExpr("device", "load AS door").distinct()

    def frames():
        events = spark.read.parquet(str(tmp_path)).join(doors, "device")
        return {
            "one": events.groupBy("device", minute()).count(),
            "two": events.groupBy("device", slide()).count(),
        }

    readings.where("load < 3").coalesce(1).write.parquet(str(tmp_path / "load=1"))
    with shared_one_by_one(frames()):
        readings.where("load > 5").coalesce(1).write.parquet(str(tmp_path / "load=2"))
        shared_one_by_one(frames()).release()


def test_what_cannot_share_comes_back_as_it_was(readings):
    plus = F.udf(lambda n: n + 1, "long")
    by_minute = readings.groupBy("device", minute())
    frames = {
        "limited": by_minute.count().limit(3).where("count > 1"),
        "no window": readings.groupBy("device").count(),
        "no group": readings.select("device"),
        "cube": readings.cube("device", minute()).count(),
        "random": by_minute.count().withColumn("r", F.rand()),
        "distinct": by_minute.agg(F.expr("stddev(DISTINCT load)")),
        "python": by_minute.count().withColumn("m", plus("count")),
        "again": by_minute.count().groupBy("device").count(),
        "inside": readings.withColumn("w", minute()).filter("w.start > ts").groupBy("w").count(),
    }
    results = mt.share({**frames, "fine": by_minute.count()})
    assert reasons(results) == {
        "limited": "it has a filter or an order above its limit",
        "no window": "no window in its groupBy",
        "no group": "it has no groupBy",
        "cube": "it has rollup, cube or groupingSets",
        "random": BEYOND,
        "distinct": "stddev(DISTINCT CAST(load AS DOUBLE)) needs every distinct value",
        "python": BEYOND,
        "again": "no window in its groupBy",
        "inside": "a filter below its groupBy reads the window",
    }
    assert all(results[name] is frames[name] for name in frames)
    assert "no window in its groupBy" in results.plan.explain()


def test_the_window_of_a_frame_that_spark_answers_alone_is_known(readings):
    by_hop = readings.groupBy("device", F.window("ts", "1 hour", "10 minutes", "5 minutes"))
    plus = F.udf(lambda n: n, "long")
    frames = {
        "hop": by_hop.count().withColumn("m", plus("count")),
        "minute": readings.groupBy(minute()).count().withColumn("m", plus("count")),
        "all": readings.groupBy("device").count(),
    }
    plan = mt.share(frames).plan
    assert {name: plan.query(name).window for name in frames} == {
        "hop": mt.hopping("1 hour", every="10 minutes", offset="5 minutes"),
        "minute": mt.tumbling("1 minute"),
        "all": None,
    }


def test_sessions_share_with_sessions(readings):
    some = readings.filter("load > 3")
    frames = {
        "short": some.groupBy("device", F.session_window("ts", "5 seconds")).count(),
        "long": some.groupBy(F.session_window("ts", "20 seconds").alias("s"), "device")
        .agg(F.max("temp").alias("m"), F.sum("load"))
        .filter("m > 1"),
        "by row": some.groupBy(F.session_window("ts", F.expr("IF(alarm, '5 s', '9 s')"))).count(),
    }
    results = shared(frames, strategy="shared")
    assert reasons(results) == {"by row": "no window in its groupBy"}
    assert [tree.queries for tree in results.plan.data_trees] == [("short", "long")]


def test_python_functions_below_are_computed_once(readings):
    plus = F.udf(lambda n: None if n is None else n + 1, "int")
    more = readings.withColumn("more", plus("load"))
    frames = {
        "a": more.filter("more > 3").groupBy("device", minute()).agg(F.sum("more")),
        "b": more.groupBy(slide()).agg(F.max("more").alias("m"), F.min("more")).filter("m > 2"),
    }
    results = shared(frames)
    assert (reasons(results), len(results.plan.readings)) == ({}, 1)


def test_a_plan_of_frames_is_the_plan_that_runs(readings):
    frames = {
        "one": readings.groupBy("device", minute()).agg(F.max("temp")),
        "two": readings.groupBy("device", slide()).agg(F.max("temp")),
    }
    plan = mt.plan(frames)
    assert [query.name for query in plan.queries] == ["one", "two"]
    assert "data by `device` over `ts`" in plan.explain()


def test_what_is_no_mapping_of_frames_is_refused(spark, readings):
    with pytest.raises(RunError, match="takes a mapping from names to DataFrames"):
        mt.share([readings])
    with pytest.raises(RunError, match="'x' must be a DataFrame of Spark's, not int"):
        mt.share({"x": 3})
    with pytest.raises(RunError, match="streaming DataFrame"):
        mt.share({"x": spark.readStream.format("rate").load().groupBy("value").count()})
