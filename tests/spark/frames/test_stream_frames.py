"""Streaming DataFrames run in one pipeline, and give what each gives as a query of its own."""

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from tests.support.streams import Input, events, joined


def minute():
    return F.window("ts", "1 minute")


def slide():
    return F.window("ts", "100 seconds", "50 seconds")


def frames_of(data):
    late = data.withWatermark("ts", "20 seconds")
    return {
        "top": late.filter("load > 1").groupBy("device", minute()).agg(F.max("temp").alias("top")),
        "total": late.withColumn("twice", F.col("load").cast("long") * 2)
        .groupBy(F.col("site").alias("place"), slide())
        .agg(F.sum("twice").alias("total"), F.count("*").alias("n"))
        .filter("n > 1")
        .select("place", F.col("window.end").alias("end"), "total"),
    }


@pytest.mark.core
def test_streaming_frames_give_what_they_give_alone(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(7, files=6, rows=40)
    source.put(joined(made[:3]), joined(made[3:]))
    frames = frames_of(source.stream())
    pipeline = mt.start(
        frames,
        checkpoint=tmp_path / "check",
        trigger="available now",
        options=mt.StreamOptions(buckets=2),
    )
    assert pipeline.await_termination(120)
    alone: dict = {name: [] for name in frames}
    for name, frame in frames.items():
        query = (
            frame.writeStream.trigger(availableNow=True)
            .option("checkpointLocation", str(tmp_path / name))
            .foreachBatch(lambda batch, _, rows=alone[name]: rows.extend(batch.collect()))
            .start()
        )
        query.awaitTermination()
    for name, rows in alone.items():
        answers = pipeline.answers(name)
        assert answers.schema.names == frames[name].schema.names
        assert sorted(map(str, answers.collect())) == sorted(map(str, rows))
        assert rows
    pipeline.stop()


def test_a_stream_has_one_watermark_and_one_source(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    data = source.stream()
    frames = frames_of(data)
    check = tmp_path / "check"
    other = data.withWatermark("ts", "5 seconds").groupBy(minute()).count()
    with pytest.raises(RunError, match=r"one watermark.* top 20 seconds, .* other 5 seconds"):
        mt.start({**frames, "other": other}, checkpoint=check)
    with pytest.raises(RunError, match=r"one watermark.* watermark= 1 minute"):
        mt.start(frames, checkpoint=check, watermark="1 minute")
    with pytest.raises(RunError, match="give no data beside them"):
        mt.start(frames, data, checkpoint=check)
    rate = spark.readStream.format("rate").load().groupBy(F.window("timestamp", "1 minute")).count()
    with pytest.raises(RunError, match="one stream, and rate and total read different ones"):
        mt.start({**frames, "rate": rate}, checkpoint=check)
    with pytest.raises(RunError, match="'sorted' cannot be streamed: a stream gives"):
        mt.start({"sorted": frames["top"].orderBy("top")}, checkpoint=check)
    moved = data.withColumn("at", F.expr("ts + INTERVAL 1 SECOND"))
    elsewhere = moved.withWatermark("at", "5 seconds").groupBy(minute()).count()
    with pytest.raises(RunError, match="its watermark is on another column than its window"):
        mt.start({"elsewhere": elsewhere}, checkpoint=check)
    own = data.filter("load > 1").withWatermark("ts", "20 seconds").groupBy(minute()).count()
    with pytest.raises(RunError, match="a filter below its watermark that others do not have"):
        mt.start({**frames, "own": own}, checkpoint=check)
    assert not check.exists()


def test_a_statement_with_an_order_is_refused_by_name(spark, tmp_path):
    (tmp_path / "events").mkdir()
    stream = spark.readStream.schema("ts TIMESTAMP, n INT").json(str(tmp_path / "events"))
    queries = mt.parse_sql(
        "-- name: top\nSELECT max(n) AS m FROM r GROUP BY window(ts, '1 hour') ORDER BY m LIMIT 3"
    )
    said = "query 'top' cannot be streamed: a stream gives .* cannot end with ORDER BY .* LIMIT 3"
    with pytest.raises(RunError, match=said):
        mt.start(queries, stream, sink=print, checkpoint=str(tmp_path / "checkpoint"))
