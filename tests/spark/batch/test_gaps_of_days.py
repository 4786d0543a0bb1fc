"""A gap of days is as long as the days of the session's time zone, as in Spark's sessions."""

from datetime import timedelta

import pytest
from pyspark.sql import functions as F

import muntin as mt
from muntin.spark.engine.settings import temporary_settings as configured
from tests.support.comparing import Pair, assert_pairs_equal

# In New York, March 10 of 2024 has 23 hours and November 3 has 25.
EVENTS = """
  SELECT TIMESTAMP(day || ' 09:00:00Z') + make_interval(0, 0, 0, 0, hours, minutes) AS ts,
         TIMESTAMP_NTZ'2024-03-09 20:00:00' + make_interval(0, 0, 0, 0, hours, minutes) AS local,
         CAST(hours % 2 AS STRING) AS device
  FROM VALUES ('2024-03-09'), ('2024-11-02'), ('2024-06-01') AS days(day),
       VALUES (0, 0), (1, 0), (24, 30), (48, 45), (73, 30), (97, 30) AS later(hours, minutes)
"""
GAPS = ["1 day", "24 hours", "1 week -144 hours", "INTERVAL 1 DAY 30 MINUTES", "25 hours"]


@pytest.fixture
def events(spark):
    return spark.sql(EVENTS)


def statements(time="ts"):
    return {
        gap: f"SELECT device, session_window, count(*) AS n FROM events "
        f"GROUP BY device, session_window({time}, '{gap}')"
        for gap in GAPS
    }


def assert_equal(expected, results):
    assert_pairs_equal(
        Pair(name=name, expected=frame, actual=results[name], strict=False)
        for name, frame in expected.items()
    )


def gaps_of_days(results):
    return [query.name for query in results.plan.plain_queries]


@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "+05:30", "Etc/GMT+5"])
@pytest.mark.parametrize("time", ["ts", "local"])
def test_sessions_of_sql_and_of_frames(spark, events, zone, time):
    has_days = ["1 day", "1 week -144 hours", "INTERVAL 1 DAY 30 MINUTES"]
    apart = has_days if zone == "America/New_York" and time == "ts" else []
    events.createOrReplaceTempView("events")
    with configured(spark, {"spark.sql.session.timeZone": zone}):
        expected = {name: spark.sql(text) for name, text in statements(time).items()}
        script = "".join(f"-- name: {n}\n{text};\n" for n, text in statements(time).items())
        with mt.run(mt.parse_sql(script)) as results:
            assert_equal(expected, results)
            assert gaps_of_days(results) == apart
        with mt.share(expected) as results:
            assert_equal(expected, results)
            assert gaps_of_days(results) == apart
            assert not apart or f"the days of its gap are those of {zone}" in results.plan.explain()


def test_a_gap_in_python_is_as_it_is_written(events):
    gaps = {"days": "1 day", "hours": "24 hours", "delta": timedelta(days=1)}
    asked = [
        mt.Query(
            name=name,
            window=mt.session(gap),
            keys=["device"],
            aggregates={"n": mt.count()},
            time="ts",
        )
        for name, gap in gaps.items()
    ]
    expected = {
        name: events.groupBy("device", F.session_window("ts", text).alias("window")).agg(
            F.count("*").alias("n")
        )
        for name, text in {"days": "1 day", "hours": "24 hours", "delta": "24 hours"}.items()
    }
    with mt.run(asked, events) as results:
        assert_equal(expected, results)
        assert gaps_of_days(results) == ["days"]
    for query in asked:
        with mt.run(query, events) as results:
            assert_equal({query.name: expected[query.name]}, results)


def test_days_of_periodic_windows_have_24_hours(spark, events):
    expected = {
        text: events.groupBy(F.window("ts", *text.split(", "))).count()
        for text in ("1 day", "2 days, 1 day", "1 week, 1 day, 5 hours")
    }
    with mt.share(expected) as results:
        assert_equal(expected, results)
        assert not results.plan.plain_queries
