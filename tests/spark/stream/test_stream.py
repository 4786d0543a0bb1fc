"""Streams give what batch gives: every window that the watermark has passed, once."""

import os

import pytest

from muntin.aggregates.aggregate import avg, count, max_, min_, sum_
from muntin.api.batch import run
from muntin.api.stream import start, stream
from muntin.errors import RunError
from muntin.model.query import Column, PlainQuery, Query
from muntin.model.time import SECOND
from muntin.model.windows import hopping, tumbling
from muntin.spark.pipeline.stream_options import StreamOptions
from muntin.spark.sinks.folder_sink import Files
from muntin.sql_text import SqlText
from tests.support.answers import assert_same
from tests.support.streams import (
    ALL,
    DELAY,
    MINUTE,
    SITES,
    SLIDE,
    WARM,
    Input,
    assert_closed,
    at,
    events,
    long_form,
)

# A stream takes minutes: `make slow`.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seed", "strategy", "files", "rows"),
    [
        (1, "shared", 8, 60),
        (2, "auto", 8, 60),
        (3, "unshared", 8, 60),
        (4, "factor", 8, 60),
        (5, "subsume", 8, 60),
        (6, "shared", 40, 8),
    ],
)
def test_all_closed_windows_equal_batch(spark, tmp_path, seed, strategy, files, rows):
    made = events(seed, files=files, rows=rows)
    source = Input(spark, tmp_path / "in")
    source.put(*made[:3])
    queries = [*ALL, WARM]
    with start(
        queries,
        source.stream(),
        checkpoint=tmp_path / "check",
        options=StreamOptions(strategy=strategy, buckets=3),
    ) as pipeline:
        pipeline.process_all_available()
        source.put(*made[3:])
        pipeline.process_all_available()
        source.assert_read_in_order(tmp_path / "check")
        status = pipeline.status()
        assert status.late_rows == 0
        assert status.is_active
        watermark = at(status.watermark)
        for query in queries:
            rows = assert_closed(pipeline.answers(query.name), query, source.batch(), watermark)
            assert rows > 5
            assert status.queries[query.name].rows == rows
            assert status.queries[query.name].complete_from is None


def test_files_of_one_time_of_change_come_in_any_order_and_late_rows_are_dropped(spark, tmp_path):
    # What Spark's file source does, so that nobody takes it for a loss: see `Input.put`.
    source, made = Input(spark, tmp_path / "in"), events(3, files=8)
    source.put(*made)
    for path in (tmp_path / "in").glob("*.json"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    with start([MINUTE], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        status = pipeline.status()
        watermarks = [None, None]
        on_time, late = [], 0
        for name in source.taken(tmp_path / "check"):
            batch = made[int(name.removesuffix(".json"))]
            # A batch drops what ended before the watermark of the batch before it.
            for row in batch:
                end = row["t"] - row["t"] % (60 * SECOND) + 60 * SECOND
                is_late = watermarks[-2] is not None and end <= watermarks[-2]
                late += is_late
                if not is_late:
                    on_time.append(row)
            latest = max((row["t"] // 1000 * 1000 - DELAY for row in batch), default=None)
            found = [one for one in (watermarks[-1], latest) if one is not None]
            watermarks.append(max(found, default=None))
        assert (late > 0) == (status.late_rows > 0)
        assert status.late_rows <= late
        kept = Input(spark, tmp_path / "kept")
        kept.put(on_time)
        watermark = at(status.watermark)
        assert_closed(pipeline.answers("minute"), MINUTE, kept.batch(), watermark)


def test_local_time_nested_keys_and_extremes_of_instants(spark, tmp_path):
    def local(frame):
        return frame.selectExpr(
            "CAST(ts AS TIMESTAMP_NTZ) AS local", "device", "site", "temp", "load"
        )

    query = Query(
        name="local",
        window=hopping("90 seconds", every="30 seconds"),
        aggregates={
            "first": min_("local"),
            "day": max_("CAST(local AS DATE)"),
            "n": count(),
        },
        keys={
            "a": "array(device, 'x')",
            "s": "named_struct('l', load, 's', site)",
            # Of zeros that differ in their sign there is one key, and of what is no number.
            "f": "array(temp, if(load = 1, 0D, -0D), CAST('NaN' AS DOUBLE), CAST('-inf' AS FLOAT))",
            "deep": "array(named_struct('a b', CAST(local AS DATE), 'raw', CAST(device AS BINARY), "
            "'price', CAST(load / 7 AS DECIMAL(20, 3)), 'at', date_trunc('MINUTE', local)))",
            "gap": "local - date_trunc('MINUTE', local)",
            "terms": "make_ym_interval(-(load % 3), -5)",
            "term": "if(load = 1, INTERVAL '-2' MONTH, INTERVAL '7' MONTH)",
        },
        # Python has no intervals of months.
        columns=[
            *(Column(name=name, expression=f"`{name}`") for name in ["a", "s", "f", "deep", "gap"]),
            *(
                Column(name=name, expression=f"CAST(`{name}` AS STRING)")
                for name in ["terms", "term"]
            ),
            *(Column(name=name, expression=name) for name in ["window", "first", "day", "n"]),
        ],
        time="local",
    )
    source = Input(spark, tmp_path / "in")
    source.put(*events(8, files=4))
    stream = local(source.stream())
    with start([query], stream, checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        assert pipeline.status().late_rows == 0
        reached = pipeline.status().watermark.removesuffix("Z").replace("T", " ")
        found = pipeline.answers("local")
        with run([query], local(source.batch())) as results:
            expected = results["local"].where(f"window.end <= TIMESTAMP_NTZ'{reached}'")
            rows = expected.collect()
            assert len(rows) > 5
            assert found.dtypes == expected.dtypes
            # What is in a nested key may be null, as far as the schema says.
            assert_same(spark.createDataFrame(found.collect(), expected.schema), expected, "", rows)


def test_unequal_slices_and_many_types_of_keys(spark, tmp_path):
    queries = [
        Query(
            name="odd",
            window=hopping("70 seconds", every="40 seconds"),
            aggregates={"most": max_("temp"), "mean": avg("load")},
            keys={
                "d": "device",
                "day": "CAST(ts AS DATE)",
                "flag": "load > 2",
                "price": "CAST(temp AS DECIMAL(20, 3))",
                "f": "CAST(temp AS FLOAT)",
                "raw": "CAST(device AS BINARY)",
                "hour": "date_trunc('hour', ts)",
            },
            time="ts",
        ),
        Query(
            name="none",
            window=hopping("90 seconds", every="35 seconds"),
            aggregates={"n": count(), "s": sum_("load + 0L")},
            time="ts",
        ),
    ]
    source = Input(spark, tmp_path / "in")
    source.put(*events(5, files=4))
    with start(queries, source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        watermark = at(pipeline.status().watermark)
        for query in queries:
            found = pipeline.answers(query.name)
            assert assert_closed(found, query, source.batch(), watermark) > 5


@pytest.mark.core
def test_the_long_form_for_ones_own_writer(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(*events(6, files=4))
    frames, watermark = long_form(spark, [MINUTE, SITES], source, tmp_path / "check")
    for one in (MINUTE, SITES):
        assert assert_closed(frames[one.name], one, source.batch(), watermark) > 0


def test_late_rows_are_dropped_and_counted(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    made = events(7, files=3)
    source.put(*made)
    with start([SLIDE], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        before = source.batch()
        rows = before.collect()
        watermark = at(pipeline.status().watermark)
        late = dict(made[0][0], t=made[0][0]["t"] - 200_000_000, device="late")
        source.put([late])
        pipeline.process_all_available()
        assert pipeline.status().late_rows == 1
        on_time = spark.createDataFrame(rows, before.schema)
        assert_closed(pipeline.answers("slide"), SLIDE, on_time, watermark)


PLAIN = PlainQuery(
    name="alone", statement=SqlText(("SELECT 1 FROM ", ""), ("",)), reason="no window"
)


def test_workers_run_the_interpreter_of_the_driver(spark, tmp_path, monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    source = Input(spark, tmp_path / "in")
    source.put(*events(1, files=2)[1:])
    with start(
        [MINUTE], source.stream(), checkpoint=tmp_path / "check", options=StreamOptions(buckets=1)
    ) as pipeline:
        pipeline.process_all_available()
        assert pipeline.status().rows_in > 0


@pytest.mark.parametrize(
    ("queries", "changes", "message"),
    [
        ([MINUTE, PLAIN], {}, "'alone' cannot be streamed: no window"),
        ("strings", {}, r"'strings' cannot be streamed: max\(device COLLATE .* is string collate"),
        ("decimals", {}, "'decimals' cannot be streamed"),
        ("maps", {}, "'maps'.*map<string,double> cannot be streamed"),
        ("collated", {}, "'collated'.*string collate UTF8_LCASE cannot be streamed"),
        ("missing", {}, "or an expression over its columns, and 'tss' is not"),
        ("numbers", {}, "temp is double; cast it"),
        ([MINUTE], {"watermark": "10 sconds"}, "not a duration"),
        ([MINUTE], {"watermark": "1500 microseconds"}, "whole milliseconds"),
        ([MINUTE], {"options": StreamOptions(buckets=0)}, "buckets is a number"),
        ([MINUTE], {"sink": 3}, "a sink is"),
        ([MINUTE], {"sink": Files("somewhere", format="parket")}, "did you mean 'parquet'"),
        ([MINUTE], {"trigger": "often"}, "not a duration"),
        ([MINUTE], {"trigger": "once"}, 'or "available now" for all that is there'),
        ([MINUTE], {"trigger": "AvailableNow"}, 'or "available now" for all that is there'),
    ],
)
def test_what_cannot_be_streamed_is_refused(spark, tmp_path, queries, changes, message):
    parts = {"window": tumbling("1 minute"), "aggregates": {"n": count()}, "time": "ts"}
    special = {
        "strings": {"aggregates": {"m": max_("device COLLATE UTF8_LCASE")}},
        "decimals": {"aggregates": {"m": avg("CAST(temp AS DECIMAL(10, 2))")}},
        "maps": {"keys": {"k": "array(map(device, temp))"}},
        "collated": {"keys": {"k": "device COLLATE UTF8_LCASE"}},
        "missing": {"time": "tss"},
        "numbers": {"time": "temp"},
    }
    if isinstance(queries, str):
        queries = [Query(**{"name": queries, **parts, **special[queries]})]
    source = Input(spark, tmp_path / "in")
    with pytest.raises(Exception, match=message) as caught:
        start(queries, source.stream(), checkpoint=tmp_path / "check", **changes)
    assert type(caught.value).__module__ == "muntin.errors"
    assert not (tmp_path / "check").exists()


def test_batch_data_is_refused(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(*events(1, files=1))
    with pytest.raises(RunError, match="batch DataFrame"):
        start([MINUTE], source.batch(), checkpoint=tmp_path / "check")
    with pytest.raises(RunError, match="RocksDB"):
        stream([MINUTE], source.stream())
