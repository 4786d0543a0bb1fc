"""Streams of aggregates of strings, decimals, bytes, instants: as Spark's own streaming query."""

import pytest

from muntin.aggregates.aggregate import avg, count, max_, min_, sum_
from muntin.api.batch import run
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.query import Query
from muntin.model.windows import hopping, tumbling
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.answers import assert_same
from tests.support.streams import (
    Input,
    assert_closed,
    at,
    events,
    joined,
    plain_streams,
    with_late_rows,
)

NAME = "concat_ws('é', device, site, load)"
PRICE = "CAST(temp % 1000 AS DECIMAL(12, 2))"
VALUES = {
    "first": min_(NAME),
    "last": max_(NAME, where="load > 2"),
    "raw": max_(f"encode({NAME}, 'UTF-8')"),
    "low": min_(f"{PRICE} / 7"),
    "high": max_(PRICE),
    "total": sum_(PRICE),
    "wide": sum_("CAST(site AS DECIMAL(27, 5))"),
    "day": max_("CAST(ts AS DATE)"),
    "at": min_("ts"),
    "local": max_("CAST(ts AS TIMESTAMP_NTZ)"),
    "since": max_("ts - TIMESTAMP '2023-11-14 00:00:00'"),
    "n": count("device"),
}
TYPES = Query(
    name="types",
    window=hopping("100 seconds", every="50 seconds"),
    aggregates=VALUES,
    keys=["device"],
    time="ts",
)
# All its parts are kept for TYPES.
LATER = Query(
    name="later",
    window=hopping("150 seconds", every="50 seconds"),
    aggregates={name: VALUES[name] for name in ("last", "total", "at", "high")},
    keys=["device"],
    time="ts",
)


@pytest.mark.long
def test_values_of_every_type_with_late_rows_and_a_query_that_is_added(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    first, second, third, *more = events(23, files=8, rows=80)
    # A row can be late from the third batch on. Late rows come before the query does, so that it
    # knows them all.
    source.put(*with_late_rows([first, second, joined([third, *more[:2]])], 3, share=0.4))
    about = {"checkpoint": tmp_path / "check", "sink": tmp_path / "out"}
    about["options"] = StreamOptions(buckets=2)
    with start([TYPES], source.stream(), **about) as pipeline:
        pipeline.process_all_available()
    source.put(joined(more[2:]))
    with start([TYPES, LATER], source.stream(), **about) as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        since = pipeline.complete_from["later"]
    expected = plain_streams(spark, [TYPES], source, tmp_path / "plain")["types"]
    found = spark.read.parquet(str(tmp_path / "out" / "types"))
    assert [f.dataType for f in found.schema] == [f.dataType for f in expected.schema]
    rows = expected.collect()
    assert len(rows) > 10
    assert_same(spark.createDataFrame(found.collect(), expected.schema), expected, "types", rows)
    later = spark.read.parquet(str(tmp_path / "out" / "later"))
    later = spark.createDataFrame(later.collect(), run([LATER], source.batch())["later"].schema)
    assert assert_closed(later, LATER, source.batch(), watermark, since) > 5


@pytest.mark.parametrize(
    ("aggregate", "told"),
    [
        (max_("device COLLATE UTF8_LCASE"), "string collate UTF8_LCASE"),
        (sum_("CAST(temp AS DECIMAL(38, 2))"), "decimal"),
        (avg("CAST(temp AS DECIMAL(10, 2))"), "decimal"),
        (max_("array(temp)"), "array<double>"),
    ],
    ids=["collation", "long", "mean", "nested"],
)
def test_what_cannot_be_streamed_is_refused_by_name(spark, tmp_path, aggregate, told):
    query = Query(name="odd", window=tumbling("1 minute"), aggregates={"x": aggregate}, time="ts")
    source = Input(spark, tmp_path / "in")
    with pytest.raises(RunError, match=rf"query 'odd' cannot be streamed: .*{told}"):
        start([query], source.stream(), checkpoint=tmp_path / "check")
    assert not (tmp_path / "check").exists()
