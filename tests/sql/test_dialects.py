"""Windows of Azure Stream Analytics and Flink SQL are those of Spark's `window`."""
# ruff: noqa: E501

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.cli.sql_file import SqlFile
from muntin.errors import ParseError
from muntin.sql import parse_sql
from muntin.sql.tokens import tokenize

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
        ("SessionWindow(day, 1)", mt.session("24 hours")),
    ],
)  # fmt: skip
def test_windows_of_azure(call, window):
    query = azure(call)
    assert (query.window, query.time, dict(query.keys)) == (window, "t", {"k": "k"})
    assert (str(query.relation), query.where) == ("i AS `i`", "x > 1")
    # A day has 24 hours, whatever the time zone.
    assert "day" not in str(query.to_sql())


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
        ("SlidingWindow(minute, 5)", r"no such window; .*: HoppingWindow\(minute, 5, 1\)"),
        ("SlidingWindow(Duration(minute, 5))", r"HoppingWindow\(minute, 10, 1\)"),
        ("SnapshotWindow()", "GROUP BY the time itself"),
        ("TumblingWindow(moon, 5)", "moon is no unit"),
        ("TumblingWindow(mintue, 5)", r"did you mean 'minute'\?"),
        ("TumblngWindow(minute, 5)", r"TumblngWindow is no window; did you mean TumblingWindow\?.*line 1, column 71"),
        ("Windows(Window('a', HopingWindow(minute, 10, 5)))", r"did you mean HoppingWindow\?"),
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
        ("CUMULATE(TABLE b, DESCRIPTOR(t), INTERVAL '1' MINUTE, INTERVAL '1' DAY)", mt.cumulate("1 day", every="1 minute")),
        ("TABLE(CUMULATE(DATA => TABLE b, TIMECOL => DESCRIPTOR(t), STEP => INTERVAL '1' MINUTE, SIZE => INTERVAL '5' MINUTES, OFFSET => INTERVAL '30' SECONDS))", mt.cumulate("5 minutes", every="1 minute", offset="30 seconds")),
        ("CUMULATE(TABLE b, DESCRIPTOR(t), INTERVAL '5' MINUTE, INTERVAL '5' MINUTES)", FIVE),
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
        ("SELECT k FROM TABLE(CUMULATE(TABLE b, DESCRIPTOR(t), INTERVAL '1' DAY)) GROUP BY window_start, window_end", "CUMULATE has no size"),
        ("SELECT k FROM TABLE(CUMULATE(TABLE b, DESCRIPTOR(t), INTERVAL '7' MINUTE, INTERVAL '1' HOUR)) GROUP BY window_start, window_end", "grows by a part of it"),
        ("SELECT k FROM TUMBLE(TABLE b, DESCRIPTOR(t), SIZ => INTERVAL '1' DAY) GROUP BY window_start, window_end", r"TUMBLE has no argument 'SIZ'; did you mean 'size'\?"),
        ("SELECT k\nFROM SESSION(TABLE b, DESCRIPTOR(t), INTERVAL '1' DAY) GROUP BY window_start, window_end", "session_window.*line 2, column 6"),
        ("SELECT k FROM CUMMULATE(TABLE b, DESCRIPTOR(t)) GROUP BY window_start, window_end", r"CUMMULATE is no function of windows; did you mean 'cumulate'\?"),
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


GIVEN = [
    "SELECT k, System.Timestamp() AS e, count(*) AS n FROM i TIMESTAMP BY t WHERE x > 1 GROUP BY k, HoppingWindow(minute, 10, 5)",
    "SELECT k, max(x) AS n FROM i TIMESTAMP BY t GROUP BY k, TumblingWindow(Duration(hour, 1), Offset(minute, 7)) HAVING max(x) > 1",
    "SELECT k, window_start, window_end AS e, sum(p) AS n FROM TABLE(CUMULATE(TABLE i, DESCRIPTOR(t), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)) WHERE x > 1 GROUP BY k, window_start, window_end",
    "SELECT count(*) AS n FROM HOP(DATA => TABLE i, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '10' MINUTES, SLIDE => INTERVAL '5' MINUTES) GROUP BY window_start, window_end",
]  # fmt: skip
GAPS = st.sampled_from([" ", "\n", "\t ", " /* ; */ ", " -- so\n"])


def scattered(text, gaps, cases):
    """The same words with other gaps between them, and all but columns in other cases."""
    pieces = []
    for number, token in enumerate(tokenize(text)):
        word = text[token.start : token.end]
        is_column = token.norm in {"k", "x", "t", "p", "e", "n", "i"} or word[0] == "'"
        if not is_column:
            word = (str.upper, str.lower, str.title)[cases[number % len(cases)]](word)
        pieces += [word, gaps[number % len(gaps)]]
    return "".join(pieces)


@settings(deadline=None)
@given(
    st.sampled_from(GIVEN),
    st.lists(GAPS, min_size=3, max_size=9),
    st.lists(st.integers(0, 2), min_size=3, max_size=9),
)
def test_gaps_and_cases_change_nothing(text, gaps, cases):
    query, other = one(text), one(scattered(text, gaps, cases))
    for part in ("window", "time", "keys", "aggregates"):
        assert getattr(query, part) == getattr(other, part)
    assert [column.name for column in query.columns] == [column.name for column in other.columns]
    assert query.grouping == other.grouping


@settings(deadline=None)
@given(st.sampled_from(GIVEN), st.lists(GAPS, min_size=3, max_size=9))
def test_errors_say_where(text, gaps):
    unit = next(token for token in tokenize(text) if token.norm in {"minute", "minutes", "hour"})
    wrong = scattered(f"{text[: unit.start]}mornings{text[unit.end :]}", gaps, [1])
    with pytest.raises(ParseError, match="mornings is no unit") as caught:
        one(wrong)
    before = wrong[: wrong.index("mornings")]
    assert caught.value.line == before.count("\n") + 1
    assert caught.value.column == len(before) - before.rfind("\n")
