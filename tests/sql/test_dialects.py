"""Windows of Azure Stream Analytics and Flink SQL are those of Spark's `window`."""
# ruff: noqa: E501

import pytest

import muntin as mt
from muntin.errors import ParseError
from muntin.sql import parse_sql
from muntin.terminal.sql_file import SqlFile

FIVE, TEN = mt.tumbling("5 minutes"), mt.hopping("10 minutes", every="5 minutes")


def one(text):
    (query,) = parse_sql(text)
    return query


def azure(window):
    return one(f"SELECT k, count(*) AS n FROM i TIMESTAMP BY t WHERE x > 1 GROUP BY k, {window}")


def flink(table, columns="k, count(*) AS n", rest=""):
    return one(f"SELECT {columns} FROM {table} GROUP BY window_start, k, window_end {rest}")


@pytest.mark.parametrize(
    ("call", "window"),
    [
        ("TumblingWindow(minute, 5)", FIVE),
        ("tumblingwindow(mi, 5)", FIVE),
        ("TUMBLINGWINDOW(Duration(minute, 5))", FIVE),
        ("TumblingWindow(Duration(hour, 1), Offset(minute, 7))", mt.tumbling("1 hour", offset="7 minutes")),
        ("HoppingWindow(minute, 10, 5)", TEN),
        ("HoppingWindow(Duration(minute, 10), Hop(second, 300))", TEN),
        ("SessionWindow(second, 30)", mt.session("30 seconds")),
    ],
)  # fmt: skip
def test_windows_of_azure(call, window):
    query = azure(call)
    assert (query.window, query.time, dict(query.keys)) == (window, "t", {"k": "k"})
    assert (str(query.relation), query.where) == ("i AS `i`", "x > 1")


def test_several_windows_are_several_queries():
    queries = parse_sql("""
      -- name: load
      SELECT k, System.Window().Id AS id, System.Timestamp() AS at, count(*) AS n
      FROM i TIMESTAMP BY t
      GROUP BY k, Windows(Window('five', TumblingWindow(minute, 5)),
                          Window('ten', HoppingWindow(minute, 10, 5)));
      SELECT 1""")
    assert [query.name for query in queries] == ["load_five", "load_ten", "q2"]
    assert [query.window for query in queries[:2]] == [FIVE, TEN]
    expressions = [[column.expression for column in query.columns] for query in queries[:2]]
    assert [each[1:3] for each in expressions] == [
        ["'five'", "`window`.end"],
        ["'ten'", "`window`.end"],
    ]
    made = mt.windows(
        "load", {"five": FIVE, "ten": TEN}, aggregates={"n": mt.count()}, keys=["k"], time="t"
    )
    assert [(query.name, query.window) for query in made] == [
        (query.name, query.window) for query in queries[:2]
    ]


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("SlidingWindow(minute, 5)", "Spark has none.*nearest"),
        ("SnapshotWindow()", "group by the time itself"),
        ("TumblingWindow(moon, 5)", "moon is no unit"),
        ("HoppingWindow(minute, 5)", "HoppingWindow with 1 lengths"),
        ("TumblingWindow(minute, 5), HoppingWindow(minute, 10, 5)", r"use Windows\(...\)"),
        ("Windows(TumblingWindow(minute, 5))", r"Windows takes Window\('id'"),
        ("Windows(Window('a', TumblingWindow(minute, 5)), Window('a', TumblingWindow(minute, 1)))", "an id of its own"),
    ],
)  # fmt: skip
def test_what_azure_has_and_spark_has_not_is_an_error(window, message):
    with pytest.raises(ParseError, match=message):
        azure(window)


def test_a_window_of_azure_needs_a_time():
    with pytest.raises(ParseError, match="TIMESTAMP BY column"):
        one("SELECT count(*) FROM i GROUP BY TumblingWindow(minute, 5)")
    with pytest.raises(ParseError, match=r"of a Window in Windows.*line 2, column 3"):
        one("SELECT\n  System.Window().Id FROM i TIMESTAMP BY t GROUP BY TumblingWindow(minute, 5)")


@pytest.mark.parametrize(
    ("table", "window"),
    [
        ("TABLE(TUMBLE(TABLE b, DESCRIPTOR(t), INTERVAL '5' MINUTES))", FIVE),
        ("TUMBLE(TABLE b, DESCRIPTOR(t), INTERVAL '5' MINUTE)", FIVE),
        ("tumble(TABLE b, DESCRIPTOR(t), INTERVAL '1' HOUR, INTERVAL '7' MINUTE)", mt.tumbling("1 hour", offset="7 minutes")),
        ("TABLE(HOP(TABLE b, DESCRIPTOR(t), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))", TEN),
        ("HOP(DATA => TABLE b, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '10' MINUTES, SLIDE => INTERVAL '5' MINUTES)", TEN),
    ],
)  # fmt: skip
def test_windows_of_flink(table, window):
    columns = "window_start, k, sum(p) AS p, window_end AS e, window_time"
    query = flink(table, columns, "HAVING window_end > current_date")
    assert query.having == "`window`.end > current_date"
    assert (query.window, query.time, dict(query.keys)) == (window, "t", {"k": "k"})
    assert [(column.name, column.expression) for column in query.columns] == [
        ("window_start", "`window`.start"),
        ("k", "k"),
        ("p", "`sum(p)`"),
        ("e", "`window`.end"),
        ("window_time", "(`window`.end - INTERVAL '0.001' SECOND)"),
    ]
    assert str(query.relation) == "b AS `b`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT k FROM TABLE(CUMULATE(TABLE b, DESCRIPTOR(t), INTERVAL '1' DAY)) GROUP BY window_start, window_end", "CUMULATE is not supported"),
        ("SELECT k FROM TUMBLE(TABLE b, DESCRIPTOR(t)) GROUP BY window_start, window_end", "TUMBLE has no size"),
        ("SELECT k FROM TUMBLE(TABLE b, t, INTERVAL '1' DAY) GROUP BY window_start, window_end", r"takes TABLE t, DESCRIPTOR\(column\)"),
        ("SELECT k FROM TUMBLE(TABLE b, DESCRIPTOR(t), 5) GROUP BY window_start, window_end", "INTERVAL '10' MINUTES"),
        ("SELECT k FROM TUMBLE(TABLE b, DESCRIPTOR(t), INTERVAL '1' DAY) GROUP BY k, window_start", "window_start and window_end"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_window_of_flink(text, message):
    with pytest.raises(ParseError, match=message):
        one(text)


def test_a_file_is_checked_in_spark_sql(tmp_path):
    path = tmp_path / "azure.sql"
    path.write_text("SELECT agv(x) FROM i TIMESTAMP BY t GROUP BY k, TumblingWindow(minute, 5)")
    with pytest.raises(ParseError, match="no function agv"):
        SqlFile.read(path).check()
    path.write_text(path.read_text().replace("agv", "avg"))
    SqlFile.read(path).check()
