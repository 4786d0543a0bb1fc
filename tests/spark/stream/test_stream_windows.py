"""User-defined windows in streams: every window that has closed, once, as batch has it."""

import pytest

import muntin as mt
from muntin.api.stream import start
from muntin.errors import RunError
from muntin.spark.pipeline.stream_options import StreamOptions
from tests.support.data_window_streams import (
    COUNTS,
    LONG,
    OWN,
    RECORDS,
    SESSIONS,
    SETS,
    assert_streamed,
    query,
)
from tests.support.streams import MINUTE, SLIDE, Input, assert_closed, at, events, long_form
from tests.support.user_aggregates import Loads


def restarted(spark, folder, queries, made, parts):
    """The answers of a stream that is stopped and started again between parts of its files."""
    source, rows, status = Input(spark, folder / "in"), {}, None

    def take(name, frame, batch):
        rows.setdefault(name, {})[batch] = (frame.schema, frame.collect())

    size = -(-len(made) // parts)
    for first in range(0, len(made), size):
        source.put(*made[first : first + size])
        with start(
            queries,
            source.stream(),
            checkpoint=folder / "check",
            sink=take,
            options=StreamOptions(buckets=2),
        ) as pipeline:
            pipeline.process_all_available()
            status = pipeline.status()
            assert status.late_rows == 0
    source.assert_read_in_order(folder / "check")
    for one in queries:
        schema, _ = next(iter(rows[one.name].values()))
        all_rows = [row for _, batch in rows[one.name].values() for row in batch]
        found = spark.createDataFrame(all_rows, schema)
        check = assert_closed if one in (MINUTE, SLIDE) else assert_streamed
        assert check(found, one, source.batch(), at(status.watermark)) > 2, one.name


@pytest.mark.long
def test_restarted_streams_equal_batch(spark, tmp_path):
    made = events(21, files=3, rows=60)
    restarted(spark, tmp_path, [SESSIONS, RECORDS[-2]], made, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "files", "rows", "parts"),
    [(31, 8, 60, 4), (32, 40, 6, 2)],
    ids=["large batches", "small batches"],
)
def test_every_kind_equals_batch_beside_periodic_queries(spark, tmp_path, seed, files, rows, parts):
    made = events(seed, files=files, rows=rows)
    restarted(spark, tmp_path, [SESSIONS, LONG, SETS, *RECORDS, OWN, MINUTE, SLIDE], made, parts)


@pytest.mark.slow
def test_queries_come_and_go(spark, tmp_path):
    source, made = Input(spark, tmp_path / "in"), events(33, files=12, rows=40)
    stay, leave = [COUNTS, RECORDS[-2]], RECORDS[1]
    source.put(*made[:4])
    with start(
        [*stay, leave, SESSIONS],
        source.stream(),
        checkpoint=tmp_path / "check",
        options=StreamOptions(buckets=2),
    ) as pipeline:
        pipeline.process_all_available()
        watermarks = [at(pipeline.status().watermark)]
        comers = [LONG, RECORDS[2], RECORDS[5], MINUTE]
        first = pipeline.add(*comers)
        assert first["landmark"] >= watermarks[0] + 10_000_000
        assert first["long sessions"] >= first["landmark"] + 11_000_000
        source.put(*made[4:6])
        pipeline.process_all_available()
        watermarks.append(at(pipeline.status().watermark))
        pipeline.remove("punctuation", "sessions")
        source.put(*made[6:])
        pipeline.process_all_available()
        status = pipeline.status()
        assert status.late_rows == 0
        now = at(status.watermark)
        for one in stay:
            found = pipeline.answers(one.name)
            assert assert_streamed(found, one, source.batch(), now) > 5
        for one in (LONG, RECORDS[2], RECORDS[5]):
            found, since = pipeline.answers(one.name), first[one.name]
            assert assert_streamed(found, one, source.batch(), now, since=since) > 2, one.name
        assert assert_closed(
            pipeline.answers("minute"), MINUTE, source.batch(), now, first["minute"]
        )


@pytest.mark.slow
def test_a_count_window_that_is_added_counts_from_then_on(spark, tmp_path):
    source, made = Input(spark, tmp_path / "in"), events(34, files=8, rows=40)
    source.put(*made[:3])
    with start([MINUTE, RECORDS[1]], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        since = pipeline.add(COUNTS)["counts"]
        source.put(*made[3:])
        pipeline.process_all_available()
        seen = source.batch().where(f"unix_micros(ts) >= {since}")
        watermark = at(pipeline.status().watermark)
        assert assert_streamed(pipeline.answers("counts"), COUNTS, seen, watermark) > 5


@pytest.mark.slow
def test_the_long_form(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    source.put(*events(36, files=4))
    queries = [SESSIONS, COUNTS, MINUTE]
    frames, watermark = long_form(spark, queries, source, tmp_path / "check")
    for one in queries:
        check = assert_closed if one is MINUTE else assert_streamed
        assert check(frames[one.name], one, source.batch(), watermark) > 0


@pytest.mark.slow
def test_late_rows_are_dropped_and_counted(spark, tmp_path):
    source, made = Input(spark, tmp_path / "in"), events(37, files=3)
    source.put(*made)
    with start([COUNTS], source.stream(), checkpoint=tmp_path / "check") as pipeline:
        pipeline.process_all_available()
        before = source.batch()
        rows = before.collect()
        source.put([dict(made[0][0], t=made[0][0]["t"] - 200_000_000)])
        pipeline.process_all_available()
        status = pipeline.status()
        assert status.late_rows == 1
        on_time = spark.createDataFrame(rows, before.schema)
        assert_streamed(pipeline.answers("counts"), COUNTS, on_time, at(status.watermark))


class Sets(Loads):
    def __init__(self):
        super().__init__()
        self.seen = set()


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (query("q", mt.custom(Sets)), "'q' cannot be streamed: Sets cannot be saved .* a set in"),
        (
            query("q", mt.session("1 minute"), aggregates={"m": mt.max("array(load)")}),
            "'q' cannot be streamed: .* is array<int>, which Spark alone combines",
        ),
        (
            query("q", mt.session("1 day")),
            "'q' cannot be streamed: the days of its gap are those of America/New_York",
        ),
        (
            query("q", mt.custom(Loads, columns={"load": "array(load)"})),
            "'q' cannot be streamed: .array.load.. is array<int>",
        ),
        (
            query("q", mt.count_window(3), aggregates={"m": mt.max_by("array(temp)", "load")}),
            "'q' cannot be streamed: .* is array<double>",
        ),
        (
            query("q", mt.count_window(3), keys={"k": "make_ym_interval(load, 1)"}),
            "'q'.*interval year to month is compared by Spark",
        ),
        (query("q", mt.custom(lambda: Loads())), "'q' cannot be streamed: .*no name to be known"),
        (query("q", mt.punctuation("load")), "'q': load must be a condition"),
    ],
)
def test_what_cannot_be_streamed_is_refused(spark, tmp_path, one, message):
    source = Input(spark, tmp_path / "in")
    with pytest.raises(RunError, match=message):
        start([one], source.stream(), checkpoint=tmp_path / "check")
    assert not (tmp_path / "check").exists()
