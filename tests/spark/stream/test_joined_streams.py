"""Queries over a stream and over its joins with static tables run in one pipeline, and give what
each gives as a streaming query of Spark's."""

import json

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.errors import RunError
from tests.support.streams import EPOCH, Input, at, collected_streams, events, with_late_rows

FAR = 2**53 + 1
# Sites that match twice, once or never, and one that is null.
PLACES = (
    f"(-1L, 'north', 3), (-1L, 'south', 4), ({FAR}L, 'east', 5), (7L, 'west', 6), (NULL, '', 7)"
)
OPTIONS = mt.StreamOptions(buckets=1)
UNITS = "('a', 2), ('b', 3)"

QUERIES = """
-- name: plain
SELECT device, window.start AS start, count(*) AS n, max(temp) AS top
FROM readings WHERE load < 3 GROUP BY device, window(ts, '1 minute');

-- name: placed
SELECT p.name, window.start AS start, count(*) AS n, sum(CAST(r.load AS LONG) * p.weight) AS total
FROM readings AS r JOIN places AS p ON r.site = p.site GROUP BY p.name, window(r.ts, '1 minute');

-- name: all_placed
SELECT name, window.start AS start, count(*) AS n, count(weight) AS known
FROM readings LEFT JOIN places USING (site) WHERE device = 'a' OR device IS NULL
GROUP BY name, window(ts, '100 seconds', '50 seconds');

-- name: both
SELECT name, factor, session_window.start AS start, min(temp) AS low
FROM (SELECT * FROM readings WHERE load IS NOT NULL) AS r
LEFT JOIN places AS p ON CAST(r.site AS STRING) = CAST(p.site AS STRING)
JOIN units AS u ON r.device = u.device
GROUP BY name, factor, session_window(r.ts, '20 seconds');
"""


def tables_of(spark, source):
    return {
        "readings": source.stream().withWatermark("ts", "10 seconds"),
        "places": spark.sql(f"SELECT * FROM VALUES {PLACES} AS places(site, name, weight)"),
        "units": spark.sql(f"SELECT * FROM VALUES {UNITS} AS units(device, factor)"),
    }


def ended(made):
    """Returns events with one at the end of each file that all queries take: Spark's watermark
    follows only the rows that may pass the filters and joins of a query."""
    last = {"device": "a", "site": FAR, "load": 2}
    return [
        [*rows, {**rows[-1], "t": max(row["t"] for row in rows), **last}] for rows in made if rows
    ]


def run_now(queries, data, folder):
    """A pipeline that has read all that is there."""
    folders = {"checkpoint": folder / "check", "sink": folder / "out"}
    pipeline = mt.start(queries, data, **folders, trigger="available now", options=OPTIONS)
    assert pipeline.await_termination(240)
    return pipeline


def written(spark, folder, name):
    return sorted(map(str, spark.read.parquet(str(folder / "out" / name)).collect()))


def plain_statement(spark, query, tables):
    """A query as a streaming DataFrame of Spark's."""
    names = {name: f"{{{name}}}" for name in query.source.tables}
    return spark.sql(query.to_sql().fill(names), **{name: tables[name] for name in names})


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({"plain", "placed"}, id="two"),
        pytest.param({"plain", "placed", "all_placed", "both"}, id="all", marks=pytest.mark.slow),
    ],
)
def test_statements_with_and_without_joins_share_a_stream(spark, tmp_path, names):
    source = Input(spark, tmp_path / "in")
    made = ended(with_late_rows(events(5, files=4, rows=30), seed=5, share=0.3))
    tables = tables_of(spark, source)
    queries = [query for query in mt.parse_sql(QUERIES) if query.name in names]
    alone = {query.name: plain_statement(spark, query, tables) for query in queries}
    expected: dict = {name: [] for name in alone}
    for files in (made[:1], made[1:]):
        source.put(*files)
        pipeline = run_now(queries, tables, tmp_path)
        for name, rows in collected_streams(spark, alone, tmp_path / "plain").items():
            expected[name] += rows
        read = sum(report["numInputRows"] for report in pipeline.recent_progress)
        assert read == sum(map(len, files))
    for name, rows in expected.items():
        assert rows
        assert written(spark, tmp_path, name) == sorted(map(str, rows)), name
    # An event that is late counts once, however often it is joined.
    status = pipeline.status()
    assert 0 < status.queries["plain"].late_rows <= status.late_rows < sum(map(len, made[1:]))


def minute(frame, *keys):
    return frame.groupBy(*keys, F.window("ts", "1 minute").alias("minute"))


def frames_of(tables):
    """A DataFrame over a stream, and two over its joins with static tables."""
    readings, places, units = tables.values()
    placed = readings.join(places, "site")
    return {
        "plain": minute(readings, "device").agg(F.count("*").alias("n")),
        "placed": minute(placed.filter("load > 1"), "name").agg(F.sum("weight").alias("n")),
        "known": minute(readings.join(units, "device", "left"), "device").agg(
            F.count("factor").alias("n")
        ),
    }


def test_dataframes_with_and_without_joins_share_a_stream(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    frames = frames_of(tables_of(spark, source))
    source.put(*ended(with_late_rows(events(6, files=2, rows=40), seed=6)))
    run_now(frames, None, tmp_path)
    for name, rows in collected_streams(spark, frames, tmp_path / "plain").items():
        assert rows
        assert written(spark, tmp_path, name) == sorted(map(str, rows)), name


def test_joins_are_added_and_removed(spark, tmp_path):
    """A query that is replaced by one over a join does not take its state."""
    source = Input(spark, tmp_path / "in")
    tables = tables_of(spark, source)
    plain = frames_of(tables)["plain"]
    # The same columns, of rows that are not the same.
    joined = minute(tables["readings"].join(tables["places"], "site"), "device").agg(
        F.count("*").alias("n")
    )
    steps = [
        {"stays": plain, "changes": plain},
        {"changes": joined, "stays": plain},
        {"stays": plain},
    ]
    since = []
    for step, rows in zip(steps, ended(events(9, files=5)), strict=False):
        source.put(rows)
        pipeline = run_now(step, None, tmp_path)
        since.append(dict(pipeline.complete_from))
        watermark = at(pipeline.status().watermark)
        if "changes" in step:
            last = watermark
    first = since[1]["changes"]
    assert first is not None
    assert [each["stays"] for each in since] == [None] * 3
    places = tables["places"]
    for name, data, begin, end in [
        ("stays", source.batch(), EPOCH - 10**10, watermark),
        ("changes", source.batch().join(places, "site"), first, last),
    ]:
        answers = minute(data, "device").agg(F.count("*").alias("n"))
        begins, ends = "unix_micros(minute.start)", "unix_micros(minute.end)"
        expected = answers.where(f"{begins} >= {begin} AND {ends} <= {end}").collect()
        found = spark.read.parquet(str(tmp_path / "out" / name)).where(f"{begins} >= {begin}")
        assert expected
        assert sorted(map(str, found.collect())) == sorted(map(str, expected)), name


def test_a_query_over_a_join_is_added_to_a_running_pipeline(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    plain, placed, *_ = mt.parse_sql(QUERIES)
    with mt.start([plain], tables_of(spark, source), checkpoint=tmp_path / "check") as pipeline:
        pipeline.add(placed)
        assert [query.name for query in pipeline.queries] == ["plain", "placed"]
        assert "JOIN places" in str(pipeline.plan.query("placed").source)
        pipeline.remove("plain")


def refused(queries, data, tmp_path, said, **options):
    with pytest.raises(RunError, match=said):
        mt.start(queries, data, checkpoint=tmp_path / "check", **options)
    assert not (tmp_path / "check").exists()


def test_what_cannot_share_a_stream_is_refused(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    tables = tables_of(spark, source)
    readings, places = tables["readings"], tables["places"]
    queries = mt.parse_sql(QUERIES)
    refused(queries, tables, tmp_path, "late= does not work with queries that join", late=print)
    (semi,) = mt.parse_sql(
        "SELECT count(*) AS n FROM readings LEFT SEMI JOIN places ON readings.site = places.site "
        "GROUP BY window(ts, '1 minute')"
    )
    said = "cannot be streamed together with others: it reads .* SEMI JOIN .* start a pipeline"
    refused([*queries, semi], tables, tmp_path, said)
    refused(queries, {"places": places}, tmp_path, "data has no streaming DataFrame")
    (moved,) = mt.parse_sql(
        "SELECT count(*) AS n FROM readings JOIN units USING (device) "
        "GROUP BY window(ts + INTERVAL 1 HOUR, '1 minute')"
    )
    said = "time of a stream that is joined with tables is a column of the stream, and 'ts "
    refused([*queries, moved], tables, tmp_path, said)
    frames = frames_of(tables)
    late = source.stream().join(places, "site").withWatermark("ts", "10 seconds")
    above = minute(late, "device").agg(F.count("*").alias("n"))
    said = "'above' has its watermark above a join that others do not have"
    refused({**frames, "above": above}, None, tmp_path, said)
    active = source.stream().filter("load > 1").withWatermark("ts", "10 seconds")
    below = minute(active.join(places, "site"), "device").agg(F.count("*").alias("n"))
    said = "'below' has a filter or a join below its watermark that others do not have"
    refused({**frames, "below": below}, None, tmp_path, said)
    others = spark.sql("SELECT * FROM VALUES (1L, 'x', 1) AS places(site, name, weight)")
    alike = minute(readings.join(others, "site"), "name").agg(F.count("*").alias("n"))
    said = "joins that cannot be told apart; call alias on static tables"
    refused({**frames, "alike": alike}, None, tmp_path, said)


def test_a_checkpoint_of_an_earlier_muntin_goes_on(spark, tmp_path):
    """It called what DataFrames read `data`, whatever that was joined with."""
    source = Input(spark, tmp_path / "in")
    frames = frames_of(tables_of(spark, source))
    known = {"known": frames["known"]}
    folder = {"checkpoint": tmp_path / "check", "options": OPTIONS}
    with mt.start(known, **folder) as pipeline:
        (table,) = pipeline.queries[0].source.tables
        assert table.startswith("data left join on (device = units_device) ")
    (stored,) = (tmp_path / "check").glob("muntin-*.json")
    data = json.loads(stored.read_text().replace(table, "data"))
    del data["own_definitions"]
    stored.write_text(json.dumps(data))
    (stored.parent / f".{stored.name}.crc").unlink(missing_ok=True)
    with mt.start(known, **folder) as pipeline:
        assert pipeline.queries[0].source.tables == ("data",)
        assert pipeline.complete_from == {"known": None}
    with pytest.raises(RunError, match="earlier muntin, which did not store what a stream"):
        mt.start(frames, **folder)


def test_one_join_that_all_read_may_have_late_rows_and_a_time_of_its_own(spark, tmp_path):
    source = Input(spark, tmp_path / "in")
    frames = frames_of(tables_of(spark, source))
    known = {"known": frames["known"]}
    mt.start(known, checkpoint=tmp_path / "late", late=print, options=OPTIONS).stop()
    placed = source.stream().join(tables_of(spark, source)["places"], "site")
    moved = placed.groupBy("name", F.window(F.expr("ts + INTERVAL 1 HOUR"), "1 minute")).count()
    mt.start({"moved": moved}, checkpoint=tmp_path / "moved", options=OPTIONS).stop()


def test_a_query_over_all_rows_is_not_added_where_the_watermark_followed_a_join(spark, tmp_path):
    """With late=, the watermark is that of the join, and rows without a match may be far ahead."""
    source = Input(spark, tmp_path / "in")
    rows = [(0, 7), (1, 7), (3600, 0), (2, 7)]
    source.put(
        [{"t": EPOCH + second * 10**6, "device": "a", "site": site} for second, site in rows]
    )
    readings = source.stream()
    placed = readings.join(tables_of(spark, source)["places"], "site")

    def counted(frame, key):
        return frame.groupBy(key, F.window("ts", "1 minute")).agg(F.count("*").alias("n"))

    folder = {"checkpoint": tmp_path / "check", "watermark": "10 seconds", "options": OPTIONS}
    join, plain = {"join": counted(placed, "name")}, {"plain": counted(readings, "device")}
    late = mt.start(join, **folder, late=print, trigger="available now")
    assert late.await_termination(240)
    for _ in range(2):
        with pytest.raises(RunError, match=r"'plain' cannot be added.*followed only the rows"):
            mt.start(join | plain, **folder)
        # Without late=, the watermark follows all rows, but only those that are read from now on.
        with mt.start(join, **folder) as pipeline:
            pipeline.process_all_available()
    more = {"more": counted(placed, "weight")}
    with mt.start(join | more, **folder) as pipeline:
        assert pipeline.complete_from == {"join": None, "more": EPOCH + 40 * 10**6}
