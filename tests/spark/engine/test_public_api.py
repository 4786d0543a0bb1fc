"""Without Spark's internal classes the answers are the same, and DataFrames share nothing."""

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from muntin.spark.engine.session_kind import may_use_internals
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.answers import assert_same
from tests.support.executed_plans import counting_rows, stored_frames
from tests.support.public_api import public_api
from tests.support.streams import (
    MINUTE,
    SITES,
    SLIDE,
    Input,
    assert_closed,
    at,
    events,
    joined,
    long_form,
    written,
)


@pytest.fixture
def public():
    with public_api():
        yield


def test_the_environment_and_the_session_turn_it_off(spark, monkeypatch):
    assert may_use_internals(spark)
    other = spark.newSession()
    other.conf.set("spark.muntin.jvm", "public")
    assert not may_use_internals(other)
    monkeypatch.setenv("MUNTIN_JVM", "internal")
    assert may_use_internals(other)
    monkeypatch.setenv("MUNTIN_JVM", "public")
    assert not may_use_internals(spark)
    monkeypatch.setenv("MUNTIN_JVM", "private")
    with pytest.raises(RunError, match="are 'public' or 'internal', not 'private'"):
        may_use_internals(spark)


def test_one_pass_is_stored_and_serves_several_answers(public, readings):
    frame, seen = counting_rows(readings)
    queries = [
        mt.parse_sql(text)[0]
        for text in (
            "-- name: a\nSELECT device, window, max(temp) AS m FROM readings "
            "GROUP BY device, window(ts, '1 minute')",
            "-- name: b\nSELECT device, window, avg(temp) AS m FROM readings WHERE load > 2 "
            "GROUP BY device, window(ts, '100 seconds', '30 seconds')",
        )
    ]
    with stored_frames() as stored:
        with mt.run(queries, frame) as results:
            assert [results[name].count() > 0 for name in results] == [True, True]
            assert stored() > 0
            assert seen.value == 900
        assert stored() == 0


def test_a_folder_that_was_listed_twice_is_read_as_it_was_each_time(public, spark, tmp_path):
    folder = str(tmp_path / "in")

    def write(count):
        data = spark.range(count).selectExpr("timestamp_seconds(id) AS ts", "id % 2 AS part")
        data.write.partitionBy("part").mode("append").parquet(folder)

    write(10)
    before = spark.read.parquet(folder)
    write(40)
    after = spark.read.parquet(folder)
    text = "SELECT window, count(*) AS n FROM {} GROUP BY window(ts, '1 hour')"
    queries = mt.parse_sql(";".join(f"-- name: {n}\n{text.format(n)}" for n in ("before", "after")))
    with mt.run(queries, {"before": before, "after": after}) as results:
        rows = results["before"].selectExpr("n").union(results["after"].selectExpr("n"))
        assert [row.n for row in rows.collect()] == [10, 50]


def test_settings_and_views_are_those_of_the_call(public, spark, readings):
    readings.createOrReplaceTempView("public_readings")
    text = """SELECT device, CAST(window.start AS STRING) AS at, count(*) AS n
        FROM public_readings GROUP BY device, window(ts, '1 minute')"""
    with configured(spark, {"spark.sql.session.timeZone": "Asia/Kolkata"}):
        expected = spark.sql(text)
        results = mt.run(mt.parse_sql(f"-- name: a\n{text}"))
    spark.range(0).selectExpr("CAST(id AS TIMESTAMP) AS ts").createOrReplaceTempView(
        "public_readings"
    )
    with results:
        assert_same(results["a"], expected)
    spark.catalog.dropTempView("public_readings")


def test_dataframes_are_answered_as_they_are(public, readings):
    grouped = readings.groupBy("device", F.window("ts", "1 minute"))
    frames = {"max": grouped.agg(F.max("temp")), "sum": grouped.agg(F.sum("load"))}
    with mt.share(frames) as results:
        reasons = {query.name: query.reason for query in results.plan.plain_queries}
        assert set(reasons) == set(frames)
        assert "MUNTIN_JVM" in reasons["max"]
        for name, frame in frames.items():
            assert_same(results[name], frame)


@pytest.mark.long
def test_a_stream_changes_and_restarts(public, spark, tmp_path):
    source, made = Input(spark, tmp_path / "in"), events(11, files=6)

    def go(queries, data):
        places = {"checkpoint": tmp_path / "check", "sink": tmp_path / "out"}
        return mt.start(queries, data, options=mt.StreamOptions(buckets=2), **places)

    source.put(joined(made[:2]))
    with go([MINUTE], source.stream()) as pipeline:
        pipeline.process_all_available()
        first = pipeline.add(SITES)
        source.put(joined(made[2:4]))
        pipeline.process_all_available()
    source.put(joined(made[4:]))
    with go([MINUTE, SITES], source.stream().withWatermark("ts", "10 seconds")) as pipeline:
        pipeline.process_all_available()
        status = pipeline.status()
        assert status.state_rows > 0
        assert status.late_rows == 0
        # Only a plan tells that there is one stream, of which the watermark tells what was read.
        with pytest.raises(RunError, match="'slide' cannot be added to a stream that is"):
            pipeline.add(SLIDE)
    for query in (MINUTE, SITES):
        found = written(spark, tmp_path / "out", query, source)
        since = first.get(query.name)
        assert assert_closed(found, query, source.batch(), at(status.watermark), since) > 0


def test_the_long_form_of_a_stream(public, spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(joined(events(6, files=4)))
    frames, watermark = long_form(spark, [SLIDE], source, tmp_path / "check")
    assert assert_closed(frames["slide"], SLIDE, source.batch(), watermark) > 0
