"""Which column of a stream carries its watermark."""

import re
from dataclasses import replace

import pytest
from pyspark.sql.functions import expr

import muntin as mt
from muntin.aggregates.aggregate import count
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.query import Query
from muntin.model.time import SECOND
from muntin.model.windows import tumbling
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.stream.source import Source
from muntin.sql import parse_sql
from tests.support.streams import DELAY, EPOCH, MINUTE, Input, assert_closed, at, events, joined

MARK = "spark.watermarkDelayMs"


@pytest.fixture
def stream(spark):
    """Events with a time of their own in `payload`, beside the time at which they arrived."""
    arriving = spark.readStream.format("rate").load()
    return arriving.selectExpr(
        "timestamp AS ts",
        "named_struct('ts', timestamp - INTERVAL 1 DAY, 'n', value) AS payload",
        "value AS n",
        "CAST(timestamp AS STRING) AS text",
    )


def timed_by(time, relation=None):
    return Query(
        name="it",
        window=tumbling("1 minute"),
        aggregates={"c": count()},
        time=time,
        relation=relation,
    )


def watched(stream, query):
    """The column with the watermark, and what it is made of, as Spark shows it."""
    bound = Source(stream, "10 seconds").bind(plan_for_stream(mt.plan([query], strategy="shared")))
    frame = bound.relations.sql(query.source.surround("SELECT * FROM ", ""))
    (name,) = [field.name for field in frame.schema.fields if MARK in field.metadata]
    made = frame._jdf.queryExecution().analyzed().toString()
    return name, made


@pytest.mark.parametrize(
    ("time", "relation"), [("ts", None), ("`ts`", None), ("TS", None), ("events.ts", "events")]
)
def test_a_column_is_watched_as_it_is(stream, time, relation):
    assert watched(stream, timed_by(time, relation))[0] == "ts"


@pytest.mark.parametrize(
    ("time", "relation"), [("payload.ts", None), ("events.payload.ts", "events")]
)
def test_a_field_is_watched_and_not_the_column_of_its_name(stream, time, relation):
    name, made = watched(stream, timed_by(time, relation))
    assert name not in {"ts", "payload"}
    assert re.search(rf"payload#\d+\.ts AS {name}#", made)


def test_a_time_that_is_computed_is_watched(stream):
    name, made = watched(stream, timed_by("to_timestamp(text)"))
    assert name not in stream.columns
    assert re.search(rf"to_timestamp\(text#.* AS {name}#", made)


def test_answers_by_a_computed_time_are_those_of_a_batch(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(joined(events(31, files=4)))
    later = replace(MINUTE, name="later", time="ts + INTERVAL 30 SECONDS")

    def computed(frame):
        return frame.withColumn("later", expr(later.time))

    for number, (query, data) in enumerate(
        [
            (later, source.stream()),
            (replace(later, time="later"), computed(source.stream())),
        ]
    ):
        with start(
            [query], data, checkpoint=tmp_path / f"check{number}", options=StreamOptions(buckets=1)
        ) as pipeline:
            pipeline.process_all_available()
            watermark = at(pipeline.status().watermark)
            answers = pipeline.answers("later")
        assert assert_closed(answers, query, computed(source.batch()), watermark) > 0


@pytest.mark.parametrize(
    "time", [pytest.param("ts", marks=pytest.mark.slow), "ts + INTERVAL 0 SECONDS"]
)
def test_the_watermark_follows_events_that_no_query_takes(spark, tmp_path, time):
    # 0         60        120       180
    # |----3-----1--|-3----|-3-------|--3    events by their load
    #               |                        here the queries change
    #            [---------)                 seen in part by the new one
    #                      [---------)       its first window
    filtered = replace(MINUTE, name="filtered", time=time, where="load > 2")
    added = replace(MINUTE, time=time)
    source = Input(spark, tmp_path / "in")
    begin = EPOCH + 40 * SECOND

    def event(second, load):
        at = begin + second * SECOND
        return {"t": at, "device": "a", "site": 1, "temp": 1.0, "load": load}

    source.put([event(30, load=3), event(61, load=1)])
    with start(
        [filtered], source.stream(), checkpoint=tmp_path / "check", options=StreamOptions(buckets=2)
    ) as pipeline:
        pipeline.process_all_available()
        assert at(pipeline.status().watermark) == begin + 61 * SECOND - DELAY
        pipeline.replace([added])
        source.put([event(70, load=3), event(130, load=3), event(200, load=3)])
        pipeline.process_all_available()
        since, watermark = pipeline.complete_from["minute"], at(pipeline.status().watermark)
        answers = pipeline.answers("minute")
    assert since == begin + 120 * SECOND
    assert assert_closed(answers, added, source.batch(), watermark, since) == 1


def test_a_field_in_sql(stream):
    (query,) = parse_sql(
        "SELECT window, count(*) AS c FROM events e GROUP BY window(e.payload.ts, '1 minute')"
    )
    assert watched(stream, query)[0] not in {"ts", "payload"}


def test_two_times_are_refused(stream):
    queries = [timed_by("ts"), timed_by("payload.ts")]
    object.__setattr__(queries[1], "name", "other")
    said = r"one time, and query '\w+' names ts, query 'other' names payload\.ts"
    with pytest.raises(RunError, match=said):
        Source(stream, "10 seconds").bind(plan_for_stream(mt.plan(queries, strategy="shared")))


@pytest.mark.parametrize(
    ("time", "said"),
    [("tss", "'tss' is not"), ("payload.tss", r"'payload\.tss' is not"), ("text", "is string")],
)
def test_what_is_no_time_is_named(stream, time, said):
    with pytest.raises(RunError, match=said):
        Source(stream, "10 seconds").bind(
            plan_for_stream(mt.plan([timed_by(time)], strategy="shared"))
        )
