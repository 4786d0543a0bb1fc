"""Streaming DataFrames run in one pipeline, and give what each gives as a query of its own."""

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from muntin.model.plan_json import query_to_json
from muntin.spark.frames.stream_frames import stream_input
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


def count(frame):
    return frame.groupBy("device", minute()).agg(F.count("*").alias("n"))


def definitions(frames):
    queries = stream_input(frames, None, None).queries
    return {query.name: query_to_json(query) for query in queries}


@pytest.mark.parametrize("mark", ["none", "first", "last"])
def test_a_query_is_defined_by_its_own_dataframe_alone(spark, tmp_path, mark):
    """So a stream finds its state again, whatever is added, removed or edited beside it."""
    data = Input(spark, tmp_path / "in").stream()
    data = data.withWatermark("ts", "20 seconds") if mark == "first" else data

    def marked(frame):
        return frame.withWatermark("ts", "20 seconds") if mark == "last" else frame

    def total(factor, condition):
        product = F.col("load").cast("long") * factor
        frame = marked(data.withColumn("product", product)).filter(condition)
        return frame.groupBy("device", minute()).agg(F.sum("product").alias("n"))

    own = {"total": total(2, "load > 1")}
    (query,) = definitions(own).values()
    renamed = marked(data.withColumnRenamed("load", "weight")).filter("weight > 1")
    neighbours = {
        "alike": total(2, "load > 1 AND temp > 0"),
        "every": count(marked(data)),
        "renamed": renamed.groupBy("device", minute()).agg(F.max("weight").alias("n")),
    }
    for name, other in neighbours.items():
        assert definitions({name: other, **own})["total"] == query, name
    assert definitions({**neighbours, **own})["total"] == query
    for edited in (total(3, "load > 1"), total(2, "load > 2")):
        assert definitions({"total": edited})["total"] != query
        assert definitions({**neighbours, "total": edited})["total"] != query


def test_a_filter_below_the_watermark_is_in_the_definition(spark, tmp_path):
    data = Input(spark, tmp_path / "in").stream()
    low, high = (
        {"n": count(data.filter(f"load > {bound}").withWatermark("ts", "20 seconds"))}
        for bound in (1, 2)
    )
    assert definitions(low) == definitions(low)
    assert definitions(low) != definitions(high)
    assert "data where (load > 1)" in str(definitions(low))


def test_queries_beside_a_join_keep_their_definitions(spark, tmp_path):
    """With the join, the time is computed once, before all queries."""
    data = Input(spark, tmp_path / "in").stream().withColumn("at", F.expr("ts + INTERVAL 1 HOUR"))
    late = data.withWatermark("at", "20 seconds")
    places = spark.sql("SELECT 7L AS site, 'west' AS name")
    hour = F.window("at", "1 hour")
    own = {"plain": late.groupBy("device", hour).agg(F.max("load").alias("top"))}
    joined = {"joined": late.join(places, "site").groupBy("name", hour).agg(F.sum("load"))}
    assert definitions({**own, **joined})["plain"] == definitions(own)["plain"]
    assert definitions({**own, **joined})["joined"] == definitions(joined)["joined"]


def test_a_column_beside_the_time_keeps_its_definition(spark, tmp_path):
    """One `select` computes the time and a column that could fail; another computes others."""
    data = Input(spark, tmp_path / "in").stream()
    hour = F.window("at", "1 hour")

    def read(column):
        return data.selectExpr("ts + INTERVAL 1 HOUR AS at", "device", "load", column)

    def share(condition):
        rows = read("100 DIV load AS share").filter(condition)
        return rows.groupBy("device", hour).agg(F.max("share").alias("top"))

    own = {"some": share("load > 0")}
    (query,) = definitions(own).values()
    neighbours = {
        "other": share("load > 1"),
        "plain": read("temp").groupBy("device", hour).agg(F.max("temp").alias("top")),
    }
    for name, other in neighbours.items():
        beside = definitions({**own, name: other})
        assert beside["some"] == query, name
        assert beside[name]["time"] == query["time"]
    assert definitions({"some": neighbours["other"]})["some"] != query


def test_an_edited_filter_starts_its_query_anew(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    data = source.stream()
    starts = [
        {"busy": count(data.filter("load > 1"))},
        {"busy": count(data.filter("load > 1")), "every": count(data)},
        {"busy": count(data.filter("load > 2"))},
    ]
    anew = []
    for frames, rows in zip(starts, events(4, files=3, rows=20), strict=True):
        source.put(rows)
        pipeline = mt.start(
            frames,
            checkpoint=tmp_path / "check",
            trigger="available now",
            watermark="20 seconds",
            options=mt.StreamOptions(buckets=1),
        )
        assert pipeline.await_termination(120)
        since = pipeline.complete_from
        anew.append({name for name, begin in since.items() if begin is not None})
    assert anew == [set(), {"every"}, {"busy"}]


def test_a_filter_below_the_watermark_cannot_be_edited(spark, tmp_path):
    """The watermark has not followed the rows that it left out: they may be far ahead."""
    source = Input(spark, tmp_path / "in")
    data = source.stream()

    def start(frames):
        source.put(events(4, files=1, rows=20)[0])
        pipeline = mt.start(
            frames,
            checkpoint=tmp_path / "check",
            trigger="available now",
            options=mt.StreamOptions(buckets=1),
        )
        assert pipeline.await_termination(120)
        return pipeline.complete_from

    def marked(condition):
        return data.filter(condition).withWatermark("ts", "20 seconds")

    busy = {"busy": count(marked("load > 1"))}
    start(busy)
    with pytest.raises(
        RunError, match=r"'busy' cannot be added.*followed only the rows of 'data w"
    ):
        start({"busy": count(marked("load > 0"))})
    assert start({**busy, "more": count(marked("load > 1").filter("load > 2"))})["more"] is not None
