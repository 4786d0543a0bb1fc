"""Streams of sketches: as in a batch, to the last byte, since both are made of the same counts."""

import pytest

import muntin as mt
from tests.support.answers import assert_same
from tests.support.sketches import COUNTED
from tests.support.streams import Input, at, closed, events, joined


def with_values(frame):
    """The events with an integer and a number that may be NaN."""
    return frame.selectExpr(
        "*", "load AS v", "CASE WHEN load = 3 THEN double('NaN') ELSE temp END AS x"
    )


def query(name, window, aggregates):
    return mt.Query(name=name, window=window, aggregates=aggregates, keys=["device"], time="ts")


# KLL sketches of one value each.
IMAGE = "unhex(concat('02020F04C8000800', lpad(hex(v % 100), 2, '0'), '00000000000000'))"
CALLS = {**COUNTED, "united": mt.kll_merge_agg_bigint(IMAGE)}
ALL = query("all", mt.hopping("100 seconds", every="50 seconds"), CALLS)
SESSIONS = query("sessions", mt.session("9 seconds"), CALLS)
LATER = query("later", mt.hopping("150 seconds", every="50 seconds"), CALLS)


@pytest.mark.slow
def test_restarts_and_a_query_that_is_added(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    first, second, *more = events(23, files=8, rows=60)
    about = {"checkpoint": tmp_path / "check", "sink": tmp_path / "out"}
    about["options"] = mt.StreamOptions(buckets=2, approximate=True)
    source.put(joined([first, second]), joined(more[:2]))
    with mt.start([ALL, SESSIONS], with_values(source.stream()), **about) as pipeline:
        pipeline.process_all_available()
    source.put(joined(more[2:]))
    asked = [ALL, SESSIONS, LATER]
    with mt.start(asked, with_values(source.stream()), **about) as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        since = pipeline.complete_from["later"]
    data = with_values(source.batch())
    with mt.run(mt.plan(asked, strategy="shared", approximate=True), data) as results:
        assert not results.plan.plain_queries
        for each in asked:
            expected = closed(results[each.name], each, watermark, since if each is LATER else None)
            rows = expected.collect()
            assert len(rows) > 5
            found = spark.read.parquet(str(tmp_path / "out" / each.name))
            found = spark.createDataFrame(found.collect(), expected.schema)
            assert_same(found, expected, each.name, rows)
