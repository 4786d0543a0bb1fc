"""`window(...)`: every spelling Spark reads, and a clear word about those it refuses."""
# ruff: noqa: E501

import pytest

from muntin.errors import ParseError
from muntin.model.data_windows import session
from muntin.model.query import PlainQuery, Query
from muntin.model.time import MINUTE, SECOND
from muntin.model.windows import Window
from muntin.sql import parse_sql


def grouped(arguments):
    (query,) = parse_sql(f"-- name: w\nSELECT count(*) FROM r GROUP BY window({arguments})")
    return query


@pytest.mark.parametrize(
    ("arguments", "size", "slide", "offset"),
    [
        ("ts, '1 minute'", MINUTE, MINUTE, 0),
        ("ts,' 1  MINUTES '", MINUTE, MINUTE, 0),
        ("ts, 'interval 1 minute'", MINUTE, MINUTE, 0),
        ("ts, '1 minute 30 seconds'", 90 * SECOND, 90 * SECOND, 0),
        ("ts, '1 hour -30 minutes'", 30 * MINUTE, 30 * MINUTE, 0),
        ("ts, '1.5 seconds'", 1_500_000, 1_500_000, 0),
        ('ts, "1 minute"', MINUTE, MINUTE, 0),
        ("ts, r'1 minute'", MINUTE, MINUTE, 0),
        ("ts, (('1 minute'))", MINUTE, MINUTE, 0),
        ("ts, 60000000", MINUTE, MINUTE, 0),
        ("ts, 60000000L", MINUTE, MINUTE, 0),
        ("ts, '10 minutes', '1 minute'", 10 * MINUTE, MINUTE, 0),
        ("ts, '10 minutes', 60000000, '15 seconds'", 10 * MINUTE, MINUTE, 15 * SECOND),
        ("ts, '10 minutes', '1 minute', '-15 seconds'", 10 * MINUTE, MINUTE, 45 * SECOND),
        ("ts, '10 minutes', '1 minute', - 15000000", 10 * MINUTE, MINUTE, 45 * SECOND),
        ("ts /* when */, -- how long\n '1 minute'", MINUTE, MINUTE, 0),
    ],
)
def test_spellings(arguments, size, slide, offset):
    query = grouped(arguments)
    assert isinstance(query, Query)
    assert query.window == Window(size=size, slide=slide, offset=offset)
    assert query.time == "ts"


@pytest.mark.parametrize(
    "time",
    ["r.ts", "timestamp_seconds(id)", "to_timestamp(s, 'yyyy-MM-dd HH:mm')", "ts + INTERVAL 1 HOUR", "t['a,b']"],
)  # fmt: skip
def test_time_may_be_an_expression(time):
    assert grouped(f"{time}, '1 minute'").time == time


@pytest.mark.parametrize("call", ["window", "WINDOW", "Window ", "`window`"])
def test_ways_to_call_it(call):
    (query,) = parse_sql(f"SELECT count(*) FROM r GROUP BY {call}(ts, '1 minute')")
    assert isinstance(query, Query)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ts, '1 minute', '2 minutes'", r"slide must be above zero and at most its size \(1 minute\), not 2 minutes"),
        ("ts, '0 seconds'", "size must be above zero, not 0 seconds"),
        ("ts, '-1 second'", "size must be above zero, not -1 second"),
        ("ts, -5", "size must be above zero, not -5 microseconds"),
        ("ts, '1 minute', 0", "slide must be above zero"),
        ("ts, '10 seconds', '5 seconds', '5 seconds'", r"offset must be within its slide \(5 seconds\).*not 5 seconds"),
        ("ts, '10 seconds', '5 seconds', '-6 seconds'", "offset must be within its slide .*not -6 seconds"),
        ("ts, '1 month'", "its window's size: '1 month' is not a duration"),
        ("ts, '1 minute', '1 parsec'", "its window's slide: '1 parsec' is not a duration"),
        ("ts, '1minute'", "'1minute' is not a duration"),
        ("ts, '1.5 minutes'", "'1.5 minutes' is not a duration"),
        ("ts, ''", "'' is not a duration"),
        ("ts, INTERVAL 1 MINUTE", "size must be text such as '1 minute'.*not INTERVAL 1 MINUTE; write it in quotes"),
        ("ts, INTERVAL '1' MINUTE", "write it in quotes"),
        ("ts, '1 hour', INTERVAL 1 MINUTE", "its window's slide must be text"),
        ("ts, concat('1', ' minute')", r"not concat\('1', ' minute'\)"),
        ("ts, size", "not size"),
        ("ts, 1.5", "not 1.5"),
        ("ts, 1e6", "not 1e6"),
        ("ts, 60000000 + 1", r"not 60000000 \+ 1"),
        ("ts, NULL", "not NULL"),
        ("ts, ", "not nothing"),
    ],
)  # fmt: skip
def test_what_spark_refuses_is_refused_with_the_name_of_the_query(arguments, message):
    with pytest.raises(ParseError, match=f"^query 'w': .*{message}"):
        grouped(arguments)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("ts, '.5 seconds'", "only Spark reads"),
        ("ts, '1. seconds'", "only Spark reads"),
        ("ts, '1 day 0 months'", "only Spark reads"),
        ("ts, '1' ' minute'", "only Spark reads"),
        ("ts, '1\\tminute'", "only Spark reads"),
        ("ts, :size", "its window's size is a parameter"),
        ("ts", "not 1 arguments"),
        ("ts, '1 hour', '1 hour', '0 hours', '1 hour'", "not 5 arguments"),
        ("window, '1 hour'", "its time is itself a window"),
        ("window_time(window), '1 hour'", "its time is itself a window"),
    ],
)
def test_what_only_spark_can_judge_is_left_to_it(arguments, reason):
    query = grouped(arguments)
    assert isinstance(query, PlainQuery)
    assert reason in query.reason


def test_a_session_window_is_shared():
    (query,) = parse_sql(
        "SELECT device, SESSION_WINDOW, session_window.start AS s, count(*) AS n FROM r "
        "GROUP BY device, session_window(ts, '5 minutes') HAVING session_window.end > '2024-01-01'"
    )
    assert isinstance(query, Query)
    assert query.window == session("5 minutes")
    assert (query.time, query.having) == ("ts", "`window`.end > '2024-01-01'")
    assert [(column.name, column.expression) for column in query.columns] == [
        ("device", "device"),
        ("SESSION_WINDOW", "`window`"),
        ("s", "`window`.start"),
        ("n", "`count(*)`"),
    ]
