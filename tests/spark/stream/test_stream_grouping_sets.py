"""Grouping sets in streams: each set is a tree, and the answers are those of Spark's own query."""

import pytest

import muntin as mt
from muntin.api.batch import run
from muntin.api.stream import start
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.answers import assert_same
from tests.support.streams import (
    MINUTE,
    Input,
    at,
    closed,
    events,
    joined,
    plain_streams,
    with_late_rows,
)

TOTALS = mt.Query(
    name="totals",
    window=mt.hopping("100 seconds", every="50 seconds"),
    keys=mt.rollup("device", "site"),
    marks={"d": mt.grouping("device"), "level": mt.grouping_id()},
    aggregates={"top": mt.max("temp"), "n": mt.count()},
    time="ts",
    where="load > 1",
    having="n > 1 OR level > 0",
)
# Keys are left out by every set, or by none; one set stands twice.
SETS = mt.Query(
    name="sets",
    window=mt.tumbling("1 minute"),
    keys={"device": "device", "place": "site", "big": "load > 2"},
    sets=[["device"], [], ["device"]],
    aggregates={"n": mt.count(), "who": mt.max("device")},
    time="ts",
)
LATER = mt.Query(
    name="later",
    window=mt.tumbling("1 minute"),
    keys=mt.cube("device", "site"),
    marks={"level": mt.grouping_id()},
    aggregates={"n": mt.count(), "s": mt.sum("load")},
    time="ts",
)


@pytest.mark.long
def test_sets_with_late_rows_a_restart_and_queries_that_come_and_go(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    first, second, third, *more = events(29, files=8, rows=80)
    # A row can be late from the third batch on.
    source.put(*with_late_rows([first, second, joined([third, *more[:2]])], 7, share=0.4))
    about = {"checkpoint": tmp_path / "check", "sink": tmp_path / "out"}
    about["options"] = StreamOptions(buckets=2)
    with start([TOTALS, SETS, MINUTE], source.stream(), **about) as pipeline:
        pipeline.process_all_available()
        status = pipeline.status()
        assert status.queries["totals"].late_rows <= status.late_rows
        assert 0 < status.queries["sets"].late_rows <= status.late_rows
    with start([TOTALS, SETS, LATER], source.stream(), **about) as pipeline:
        source.put(joined(more[2:]))
        pipeline.process_all_available()
        status = pipeline.status()
    watermark = at(status.watermark)
    for name, expected in plain_streams(spark, [TOTALS, SETS], source, tmp_path / "plain").items():
        rows = expected.collect()
        assert len(rows) > 10
        found = spark.read.parquet(str(tmp_path / "out" / name)).collect()
        assert_same(spark.createDataFrame(found, expected.schema), expected, name, rows)
    found = spark.read.parquet(str(tmp_path / "out" / "later")).collect()
    later = spark.createDataFrame(found, run([LATER], source.batch())["later"].schema)
    since = status.queries["later"].complete_from
    assert since is not None
    with run([LATER], source.batch()) as results:
        expected = closed(results["later"], LATER, watermark, since)
        assert expected.count() > 5
        assert_same(later, expected, "later")
