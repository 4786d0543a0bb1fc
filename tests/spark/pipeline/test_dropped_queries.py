"""A query that fails is left out, and the others lose and repeat nothing."""

from dataclasses import replace

import pytest

from muntin.aggregates.aggregate import max_
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.model.data_windows import session
from muntin.model.query import Query
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.streams import (
    MINUTE,
    SITES,
    Input,
    assert_closed,
    at,
    events,
    joined,
    written,
)

# It fails for a row with this load.
WRONG = 99
FRAGILE = Query(
    name="fragile",
    window=MINUTE.window,
    aggregates={"m": max_(f"CAST(IF(load = {WRONG}, device, '1') AS INT)")},
    keys=["device"],
    time="ts",
)
OTHERS = [MINUTE, SITES]

pytestmark = pytest.mark.usefixtures("one_partition")


def wrong(rows):
    return [*rows[:-1], {**rows[-1], "load": WRONG, "device": "a"}]


@pytest.mark.long
def test_a_query_that_fails_is_dropped_and_can_be_added_again(spark, tmp_path):
    source, out = Input(spark, tmp_path / "in"), tmp_path / "out"
    made = events(71, files=8)

    def go(*queries, on_error="drop query"):
        return start(
            queries,
            source.stream(),
            checkpoint=tmp_path / "check",
            sink=out,
            options=StreamOptions(buckets=1, on_error=on_error),
        )

    source.put(joined(made[:2]))
    asked = [MINUTE, FRAGILE, SITES]
    with go(*asked) as pipeline:
        pipeline.process_all_available()
        assert pipeline.status().dropped == {}
        source.put(wrong(joined(made[2:4])))
        pipeline.process_all_available()
        status = pipeline.status()
        assert list(status.dropped) == ["fragile"]
        assert "CAST_INVALID_INPUT" in status.dropped["fragile"]
        assert status.is_active
        assert status.error is None
        assert set(status.queries) == {"minute", "sites"}
    # The next start knows, and an edited query is another one.
    edited = replace(FRAGILE, name="fragile", having="m > 0")
    with go(*asked) as pipeline:
        assert list(pipeline.status().dropped) == ["fragile"]
        pipeline.replace(asked)
        assert {query.name for query in pipeline.queries} == {"minute", "sites"}
        first = pipeline.add(edited)["fragile"]
        assert pipeline.status().dropped == {}
        source.put(joined(made[4:]))
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
    for query in OTHERS:
        found = written(spark, out, query, source)
        assert assert_closed(found, query, source.batch(), watermark) > 3
    rows = written(spark, out, edited, source).where(f"unix_micros(window.start) >= {first}")
    on_time = source.batch().where(f"load IS DISTINCT FROM {WRONG}")
    assert assert_closed(rows, edited, on_time, watermark, first) > 3


@pytest.mark.slow
def test_where_all_queries_fail_or_the_sink_does_the_stream_stops(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(wrong(joined(events(72, files=2))))
    calls = []

    def failing(name, frame, batch):
        calls.append(name)
        raise OSError("disk full")

    def go(queries, sink, check):
        return start(
            queries,
            source.stream(),
            checkpoint=tmp_path / check,
            sink=sink,
            options=StreamOptions(buckets=1, on_error="drop query"),
        )

    sessions = replace(FRAGILE, name="gaps", window=session("20 seconds"))
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        go([FRAGILE, sessions], None, "all").process_all_available()
    with pytest.raises(RunError, match="disk full"):
        go([MINUTE, SITES], failing, "sink").process_all_available()
    # The batch was not given to it again to find out.
    assert len(calls) == 1
    with pytest.raises(RunError, match='on_error is "stop" or "drop query", not \'ignore\''):
        start(
            [MINUTE],
            source.stream(),
            checkpoint=tmp_path / "new",
            options=StreamOptions(on_error="ignore"),
        )
