"""User-defined windows in streams: every window that has closed, once, as batch has it."""

import pytest

import muntin as mt
from muntin.errors import RunError
from muntin.runtime.state.record_lane import grains
from muntin.spark.batch.results import run
from muntin.spark.pipeline.pipeline import start
from muntin.spark.stream.source import SETTINGS, stream
from tests.support.answers import assert_same
from tests.support.streams import MINUTE, SLIDE, Input, assert_closed, at, events
from tests.support.user_aggregates import FIRST, LastFive, Loads

AGGREGATES = {
    "n": mt.count(),
    "hot": mt.max("temp"),
    "mean": mt.avg("temp"),
    "total": mt.sum("load + 0L"),
    "odd": mt.Aggregate(function="count", where="load % 2 = 1"),
}


def query(name, window, **parts):
    given = {"aggregates": AGGREGATES, "time": "ts", "keys": ["device"], **parts}
    return mt.Query(name=name, window=window, **given)


HALVES = mt.threshold(
    "load > 2",
    inside=mt.hopping("20 seconds", every="10 seconds"),
    outside=mt.hopping("40 seconds", every="20 seconds"),
)
SESSIONS = query("sessions", mt.session("4 seconds"))
LONG = query("long sessions", mt.session("11 seconds"), where="load > 1", having="n > 1")
COUNTS = query("counts", mt.count_window(5, every=2))
RECORDS = [
    COUNTS,
    query("punctuation", mt.punctuation("load = 1")),
    query("landmark", mt.landmark("load = 1", end="load = 3")),
    query("for a while", mt.landmark("load = 1", end="5 seconds")),
    query("delta", mt.delta("unix_seconds(ts)", 10, every=5)),
    query("threshold", HALVES),
    query("class", mt.custom(Loads, columns=["load", "temp", "device"])),
    query("last five", mt.custom(LastFive)),
]


OWN = query(
    "own",
    mt.hopping("20 seconds", every="10 seconds"),
    aggregates={"first": FIRST, "n": mt.count()},
)
FOUND = [SESSIONS, COUNTS, *RECORDS[-2:]]


def released(window, watermark):
    """The instant before which all records have been seen."""
    if isinstance(window, mt.model.windows.data_windows.Session):
        (tree,) = mt.plan(query("q", window)).record_trees
        watermark -= watermark % grains(tree).edges[0].period
    return watermark


def is_timed(window):
    """Whether windows end at an instant, not before a record."""
    return isinstance(window, mt.Window | mt.model.windows.data_windows.Threshold) or (
        isinstance(window, mt.model.windows.data_windows.Landmark) and isinstance(window.end, int)
    )


def assert_streamed(found, one, data, watermark, grain=None, since=None) -> int:
    """`found` has every window that has closed, as batch has it; gives how many there are.

    `grain` is that of sessions; without it, that of the query alone.
    """
    until = released(one.window, watermark)
    if grain is not None:
        until = watermark - watermark % grain
    compare = "<=" if is_timed(one.window) else "<"
    with run([one], data) as results:
        expected = results[one.name].where(f"unix_micros(window.end) {compare} {until}")
        if since is not None:
            expected = expected.where(f"unix_micros(window.start) >= {since}")
        rows = expected.collect()
        assert_same(found, expected, one.name, rows)
    return len(rows)


def restarted(spark, folder, queries, made, parts):
    """The answers of a stream that is stopped and started again between parts of its files."""
    source, rows, status = Input(spark, folder / "in"), {}, None

    def take(name, frame, batch):
        rows.setdefault(name, {})[batch] = (frame.schema, frame.collect())

    size = -(-len(made) // parts)
    for first in range(0, len(made), size):
        source.put(*made[first : first + size])
        with start(
            queries, source.stream(), checkpoint=folder / "check", buckets=2, sink=take
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
    restarted(spark, tmp_path, [SESSIONS, LONG, *RECORDS, OWN, MINUTE, SLIDE], made, parts)


@pytest.mark.slow
def test_queries_come_and_go(spark, tmp_path):
    source, made = Input(spark, tmp_path / "in"), events(33, files=12, rows=40)
    stay, leave = [COUNTS, RECORDS[-2]], RECORDS[1]
    source.put(*made[:4])
    with start(
        [*stay, leave, SESSIONS], source.stream(), checkpoint=tmp_path / "check", buckets=2
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
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    source = Input(spark, tmp_path / "in")
    source.put(*events(36, files=4))
    found = []
    queries = [SESSIONS, COUNTS, MINUTE]
    writer = stream(queries, source.stream()).writeStream
    running = (
        writer.foreachBatch(lambda frame, _: found.extend(frame.collect()))
        .option("checkpointLocation", str(tmp_path / "check"))
        .start()
    )
    running.processAllAvailable()
    watermark = at(running.lastProgress["eventTime"]["watermark"])
    running.stop()
    for name in SETTINGS:
        spark.conf.unset(name)
    for one in queries:
        schema = run([one], source.batch())[one.name].schema
        rows = [tuple(row[c] for c in schema.names) for row in found if row["query"] == one.name]
        check = assert_closed if one is MINUTE else assert_streamed
        frame = spark.createDataFrame(rows, schema)
        assert check(frame, one, source.batch(), watermark) > 0


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
            query("q", mt.session("1 minute"), aggregates={"m": mt.max("device")}),
            "'q' cannot be streamed: .* not a plain number",
        ),
        (
            query("q", mt.custom(Loads, columns={"load": "array(load)"})),
            "'q' cannot be streamed: .array.load.. is array<int>",
        ),
        (query("q", mt.count_window(3), keys={"k": "array(temp)"}), "'q'.*array<double> cannot be"),
        (query("q", mt.custom(lambda: Loads())), "'q' cannot be streamed: .*no name to be known"),
        (query("q", mt.punctuation("load")), "'q': load must be a condition"),
    ],
)
def test_what_cannot_be_streamed_is_refused(spark, tmp_path, one, message):
    source = Input(spark, tmp_path / "in")
    with pytest.raises(RunError, match=message):
        start([one], source.stream(), checkpoint=tmp_path / "check")
    assert not (tmp_path / "check").exists()
