"""Data that has a watermark or a stateful step of its own gives what Spark's aggregation gives."""

from dataclasses import replace

import pytest
from pyspark.sql import functions as F

from muntin.aggregates.aggregate import count
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.windows import tumbling
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.answers import assert_same, plain
from tests.support.streams import (
    MINUTE,
    SITES,
    WARM,
    Input,
    assert_closed,
    at,
    events,
    joined,
    with_late_rows,
    written,
)

DELAY = "10 seconds"

pytestmark = pytest.mark.usefixtures("one_partition")


def marked(data):
    return data.withWatermark("ts", DELAY)


def interval_join(data, how):
    left, right = marked(data).alias("l"), marked(data).alias("r")
    near = F.expr("l.site = r.site AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 5 SECONDS")
    return left.join(right, near, how).select("l.*")


# What a user does before the data comes to muntin, or to an aggregation of Spark's.
UPSTREAM = {
    "a watermark": marked,
    "dropDuplicates": lambda data: marked(data).dropDuplicates(["ts", "device"]),
    "dropDuplicatesWithinWatermark": (
        lambda data: marked(data).dropDuplicatesWithinWatermark(["device", "load"])
    ),
    "a union": lambda data: marked(data).union(marked(data.filter("load > 2"))),
    "an inner join": lambda data: interval_join(data, "inner"),
    "a left join": lambda data: interval_join(data, "left"),
    "an aggregation": (
        lambda data: (
            marked(data)
            .groupBy(F.window("ts", "20 seconds"), "device", "site")
            .agg(F.max("temp").alias("temp"), F.max("load").alias("load"))
            .select(F.window_time("window").alias("ts"), "device", "site", "temp", "load")
        )
    ),
}


def answers_of_spark(spark, query, data, check):
    """What Spark's own aggregation of the query gives in append mode."""
    rows = []
    answers = spark.sql(query.to_sql().fill({"": "{data}"}), data=data)
    answers.writeStream.trigger(availableNow=True).foreachBatch(
        lambda batch, _: rows.extend(batch.collect())
    ).option("checkpointLocation", str(check)).start().awaitTermination()
    return rows


QUICK = {"a union", "an inner join", "an aggregation"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in UPSTREAM],
)
def test_answers_are_those_of_sparks_aggregation(spark, tmp_path, name):
    source = Input(spark, tmp_path / "in")
    made = with_late_rows(events(5, files=6, rows=30), seed=5)
    source.put(*(joined(made[at : at + 2]) for at in (0, 2, 4)))
    data = UPSTREAM[name](source.stream())
    queries = [MINUTE, SITES]
    pipeline = start(
        queries,
        data,
        checkpoint=tmp_path / "check",
        trigger="available now",
        options=StreamOptions(buckets=1),
    )
    assert pipeline.await_termination(120)
    for query in queries:
        rows = answers_of_spark(spark, query, data, tmp_path / query.name)
        assert rows
        schema = plain(query, source.batch()).schema
        expected = spark.createDataFrame(rows, schema)
        assert_same(pipeline.answers(query.name), expected, query.name, rows)


def test_dataframes_may_have_their_watermark_below_a_stateful_step(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(*events(6, files=3, rows=30))
    once = UPSTREAM["dropDuplicates"](source.stream())
    frame = once.groupBy("device", F.window("ts", "1 minute")).agg(F.max("temp").alias("top"))
    pipeline = start(
        {"top": frame},
        checkpoint=tmp_path / "check",
        trigger="available now",
        options=StreamOptions(buckets=1),
    )
    assert pipeline.await_termination(120)
    rows = []
    frame.writeStream.trigger(availableNow=True).foreachBatch(
        lambda batch, _: rows.extend(batch.collect())
    ).option("checkpointLocation", str(tmp_path / "alone")).start().awaitTermination()
    assert rows
    assert sorted(map(str, pipeline.answers("top").collect())) == sorted(map(str, rows))


def test_a_query_is_added_to_data_with_a_watermark(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(7, files=4)
    source.put(joined(made[:2]))
    data = UPSTREAM["dropDuplicates"](source.stream())
    counted = replace(MINUTE, aggregates={"n": count()}, columns=())
    added = replace(counted, name="added", window=tumbling("2 minutes"))
    folders = {"sink": tmp_path / "out", "checkpoint": tmp_path / "check"}
    for queries in ([counted], [counted, added]):
        pipeline = start(
            queries, data, **folders, trigger="available now", options=StreamOptions(buckets=1)
        )
        assert pipeline.await_termination(120)
        source.put(joined(made[2:]))
    once = source.batch().dropDuplicates(["ts", "device"])
    watermark, since = at(pipeline.status().watermark), pipeline.complete_from["added"]
    for query, first in ((counted, None), (added, since)):
        found = written(spark, tmp_path / "out", query, source)
        assert assert_closed(found, query, once, watermark, first)


def test_no_query_is_added_to_several_watermarks(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    data = UPSTREAM["a union"](source.stream())
    with pytest.raises(RunError, match="late= does not work with a stream that is, or may be"):
        start([MINUTE], data, checkpoint=tmp_path / "check", late=print)
    source.put(*events(8, files=1))
    with start(
        [MINUTE], data, checkpoint=tmp_path / "check", options=StreamOptions(buckets=1)
    ) as pipeline:
        pipeline.process_all_available()
        with pytest.raises(RunError, match="'warm' cannot be added to a stream that is"):
            pipeline.add(WARM)
        assert pipeline.status().is_active


def test_a_stream_without_a_watermark_warns(spark, tmp_path, caplog):
    data = Input(spark, tmp_path / "in").stream()
    for number, (frame, watermark) in enumerate(
        [(data, None), (data, "10 seconds"), (marked(data), None)]
    ):
        check = tmp_path / f"check{number}"
        with start(
            [MINUTE], frame, checkpoint=check, watermark=watermark, options=StreamOptions(buckets=1)
        ) as pipeline:
            warnings = pipeline.status().warnings
        assert [("10 seconds" in warning) for warning in warnings] == [True] * (number == 0)
    assert "late by 10 seconds; give watermark=" in caplog.text


@pytest.mark.parametrize(
    ("change", "asked", "said"),
    [
        (marked, "1 minute", "the data's 10 seconds, watermark= 1 minute"),
        (
            lambda data: marked(data).withColumn("at", F.expr("ts + INTERVAL 1 HOUR")),
            None,
            "a watermark on 'ts', and the time of the queries is 'at'",
        ),
        (
            lambda data: marked(data).withColumn("ts", F.expr("ts + INTERVAL 1 HOUR")),
            None,
            "a column that the data does not have any more",
        ),
    ],
)
def test_a_watermark_of_another_kind_is_refused(spark, tmp_path, change, asked, said):
    data = change(Input(spark, tmp_path / "in").stream())
    query = replace(MINUTE, time="at" if "at" in data.columns else "ts")
    with pytest.raises(RunError, match=said):
        start([query], data, checkpoint=tmp_path / "check", watermark=asked)
    assert not (tmp_path / "check").exists()
