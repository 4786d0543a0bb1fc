"""A statement taken apart: keys, aggregates, projection, HAVING."""
# ruff: noqa: E501

import pytest

from muntin.model.query import Query
from muntin.sql import parse_sql

BY = "GROUP BY device, window(ts, '1 minute')"


def parse(sql):
    (query,) = parse_sql(sql.replace("{by}", BY))
    assert isinstance(query, Query), query.reason
    return query


def columns(query):
    return [(column.name, column.expression) for column in query.columns]


def aggregates(query):
    return {name: str(aggregate) for name, aggregate in query.aggregates.items()}


def test_one_query_in_full():
    query = parse("""
      -- name: hot
      SELECT device, window, max(temp) - min(temp) AS spread, count(*) AS n
      FROM readings WHERE temp IS DISTINCT FROM -1
      GROUP BY device, window(ts, '1 hour', '10 minutes') HAVING n > 10 AND max(temp) > 50
    """)
    assert query.name == "hot"
    assert str(query.window) == "1 hour every 10 minutes"
    assert query.time == "ts"
    assert query.keys == {"device": "device"}
    assert aggregates(query) == {name: name for name in ("max(temp)", "min(temp)", "count(*)")}
    assert query.where == "temp IS DISTINCT FROM -1"
    assert query.having == "(`count(*)`) > 10 AND `max(temp)` > 50"
    assert columns(query) == [
        ("device", "device"),
        ("window", "`window`"),
        ("spread", "`max(temp)` - `min(temp)`"),
        ("n", "`count(*)`"),
    ]
    assert query.source.tables == ("readings",)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("count(*)", "count(*)"),
        ("COUNT( * )", "count(*)"),
        ("count(1)", "count(*)"),
        ("count(1L)", "count(*)"),
        ("count(NULL)", "count(NULL)"),
        ("count(x)", "count(x)"),
        ("count(ALL x)", "count(x)"),
        ("count_if(x > 1)", "count_if(x > 1)"),
        ("sum(x)", "sum(x)"),
        ("avg(x)", "avg(x)"),
        ("mean(x)", "avg(x)"),
        ("min(DISTINCT x)", "min(x)"),
        ("Max(x)", "max(x)"),
        ("`max`(x)", "max(x)"),
        ("variance(x)", "var_samp(x)"),
        ("var_pop(x)", "var_pop(x)"),
        ("std(x)", "stddev_samp(x)"),
        ("stddev(x)", "stddev_samp(x)"),
        ("stddev_pop(x)", "stddev_pop(x)"),
        ("any(x > 1)", "bool_or(x > 1)"),
        ("some(x > 1)", "bool_or(x > 1)"),
        ("every(x LIKE ANY ('a', 'b'))", "bool_and(x LIKE ANY ('a', 'b'))"),
        ("bool_and(DISTINCT x)", "bool_and(x)"),
        ("sum(x) FILTER (WHERE y > 1)", "sum(x) FILTER (WHERE y > 1)"),
        ("count(*) filter(where y IN (1, 2))", "count(*) FILTER (WHERE y IN (1, 2))"),
        ("sum(a * b)", "sum(a * b)"),
        ("max(aggregate(xs, 0, (acc, x) -> acc + x))", "max(aggregate(xs, 0, (acc, x) -> acc + x))"),
    ],
)  # fmt: skip
def test_aggregate(call, expected):
    query = parse(f"SELECT {call} AS a FROM r {BY}")
    assert aggregates(query) == {expected: expected}
    assert columns(query) == [("a", f"`{expected}`")]


def test_equal_aggregates_are_one():
    query = parse(
        "SELECT sum(x)/count(*), SUM( X ), sum(r.x), count(1), sum(x) FILTER (WHERE y), sum(y) FROM r {by}"
    )
    names = ("sum(x)", "count(*)", "sum(x) FILTER (WHERE y)", "sum(y)")
    assert aggregates(query) == {name: name for name in names}
    assert [text for _, text in columns(query)] == [
        "`sum(x)`/`count(*)`",
        "`sum(x)`",
        "`sum(x)`",
        "`count(*)`",
        "`sum(x) FILTER (WHERE y)`",
        "`sum(y)`",
    ]


def test_groups_alone_are_counted_without_being_shown():
    query = parse("SELECT device, window.end FROM r {by}")
    assert aggregates(query) == {"count(*)": "count(*)"}
    assert columns(query) == [("device", "device"), ("end", "`window`.end")]


@pytest.mark.parametrize(
    ("group", "keys"),
    [
        ("device", {"device": "device"}),
        ("Device, DEVICE, `device`", {"Device": "Device"}),
        ("r.device", {"device": "r.device"}),
        ("s.device", {"s.device": "s.device"}),
        ("s.a.b.c.d", {"s.a.b.c.d": "s.a.b.c.d"}),
        ("`device id`", {"device id": "`device id`"}),
        ("upper(device), city", {"upper(device)": "upper(device)", "city": "city"}),
        ("m['k'], CASE WHEN x THEN 1 END", {"m['k']": "m['k']", "CASE WHEN x THEN 1 END": "CASE WHEN x THEN 1 END"}),
        ("x + 1, `x + 1`", {"x + 1_": "x + 1", "x + 1": "`x + 1`"}),
        ("date, 'lit', 2.5", {"date": "date", "'lit'_": "'lit'", "2.5_": "2.5"}),
        ("(a, b)", {"(a, b)": "(a, b)"}),
        ("x IS DISTINCT FROM y", {"x IS DISTINCT FROM y": "x IS DISTINCT FROM y"}),
        ("extract(year FROM ts)", {"extract(year FROM ts)": "extract(year FROM ts)"}),
    ],
)  # fmt: skip
def test_keys(group, keys):
    query = parse(f"SELECT count(*) AS n FROM r GROUP BY {group}, window(ts, '1 minute')")
    assert query.keys == keys


def test_made_names_avoid_those_in_use():
    query = parse("SELECT max(x), min(`max(x)`) AS m FROM r GROUP BY x + 1, `x + 1`, window(ts, 5)")
    assert list(query.aggregates) == ["max(x)_", "min(`max(x)`)"]
    assert query.keys == {"x + 1_": "x + 1", "x + 1": "`x + 1`"}


@pytest.mark.parametrize(
    ("group", "item", "expected"),
    [
        ("device", "concat(device, '-', DEVICE)", "concat(device, '-', DEVICE)"),
        ("device", "r.device", "`device`"),
        ("r.device", "device", "device"),
        ("s", "s.device", "s.device"),
        ("s.device", "upper(s . device)", "upper(`s.device`)"),
        ("s, s.device", "struct(s.device, s.x)", "struct(`s.device` AS `device`, s.x)"),
        (
            "upper(d)",
            "struct(upper(d), max(x))",
            "struct(coalesce(`upper(d)`), coalesce(`max(x)`))",
        ),
        ("m['k']", "(m['k'], 1)", "(`m['k']` AS `k`, 1)"),
        ("d", "struct(window, window(ts, '1 minute'))", "struct(`window`, coalesce(`window`))"),
        ("upper( device )", "UPPER(device) || 'x'", "`upper( device )` || 'x'"),
        ("a, b, a + b", "a + b", "`a + b`"),
        ("a, b, a + b", "(a+b) * 2", "(`a + b`) * 2"),
        ("a, b, a + b", "a + b * 2", "a + b * 2"),
        ("a, b, a + b", "CASE WHEN x = 1 THEN a + b ELSE a END", None),
        ("a, b, a + b", "cast(a + b AS int)", "cast(`a + b` AS int)"),
        ("date", "cast(max(ts) AS date)", "cast(`max(ts)` AS date)"),
        ("date", "DATE '2020-01-01'", "DATE '2020-01-01'"),
        ("date", "date(max(date))", "date(`max(date)`)"),
        ("date", "max(ts)::date", "`max(ts)`::date"),
        ("day", "max(ts) + INTERVAL 1 DAY", "`max(ts)` + INTERVAL 1 DAY"),
        ("day", "extract(day FROM max(ts))", "extract(day FROM `max(ts)`)"),
        ("day", "timestampdiff(day, min(ts), max(ts))", "timestampdiff(day, `min(ts)`, `max(ts)`)"),
        ("x", "transform(array(1), x -> x + 1)", "transform(array(1), x -> x + 1)"),
        ("'lit'", "concat('lit', max(x))", "concat('lit', `max(x)`)"),
        ("device", "window(ts, '60 seconds').start", "`window`.start"),
        ("device", "Window.Start", "`window`.Start"),
        ("device", "date_format(window.start, 'yyyy')", "date_format(`window`.start, 'yyyy')"),
        ("device", "named_struct('window', max(x))", "named_struct('window', `max(x)`)"),
        ("device", "my_function(device, max(x))", "my_function(device, `max(x)`)"),
        ("device", "device LIKE ANY ('a', 'b')", "device LIKE ANY ('a', 'b')"),
        ("device", "1 + 1", "1 + 1"),
        ("device", "max(x) * 2 * count(*)", "`max(x)` * 2 * `count(*)`"),
    ],
)
def test_item(group, item, expected):
    (query,) = parse_sql(f"SELECT {item} AS i FROM r GROUP BY {group}, window(ts, '1 minute')")
    if expected is None:
        assert query.reason == "x is neither a key nor inside an aggregate"
    else:
        assert columns(query) == [("i", expected)]


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("device", "device"),
        ("DEVICE", "DEVICE"),
        ("`device`", "device"),
        ("r.device", "device"),
        ("s.inner.Field", "Field"),
        ("window", "window"),
        ("window.start", "start"),
        ("window.end", "end"),
        ("window(ts, '1 minute')", "window"),
        ("window(ts, '1 minute').start", None),
        ("max(x)", None),
        ("upper(device)", None),
        ("1", None),
        ("max(x) hottest", "hottest"),
        ("max(x) AS `a``b c`", "a`b c"),
        ("max(x) AS window", "window"),
        ("max(x) AS end", "end"),
        ("device AS d", "d"),
    ],
)
def test_column_name(item, name):
    query = parse(f"SELECT {item} FROM r GROUP BY device, s.inner, window(ts, '1 minute')")
    assert [column.name for column in query.columns] == [name]


@pytest.mark.parametrize(
    ("having", "expected"),
    [
        ("n > 1", "(`count(*)`) > 1"),
        ("N > 1 OR d = 'a'", "(`count(*)`) > 1 OR (device) = 'a'"),
        ("device = 'a'", "device = 'a'"),
        ("count(*) > 1", "`count(*)` > 1"),
        ("sum(x) > 1", "`sum(x)` > 1"),
        ("p.low < 3", "(struct(`min(x)` AS low, 1 AS one)).low < 3"),
        ("start > '2020-01-01'", "(`window`.start) > '2020-01-01'"),
        ("window.end > '2020-01-01'", "`window`.end > '2020-01-01'"),
        ("max(n) > 1", "`max(n)` > 1"),
        ("n IS DISTINCT FROM 3", "(`count(*)`) IS DISTINCT FROM 3"),
        ("low = 1", None),
    ],
)
def test_having(having, expected):
    (query,) = parse_sql(
        "SELECT device AS d, window.start, count(*) AS n, struct(min(x) AS low, 1 AS one) AS p "
        f"FROM r {BY} HAVING {having}"
    )
    assert (query.having if isinstance(query, Query) else None) == expected


def test_in_having_a_key_goes_before_an_item_of_its_name():
    query = parse("SELECT y AS k, max(x) AS y FROM r GROUP BY 1, window(ts, 5) HAVING y > 1")
    assert query.having == "y > 1"


@pytest.mark.parametrize("group", ["1, 2", "2, 1", "(1), ((2))", "upper( Device ), 2"])
def test_ordinals_stand_for_items(group):
    query = parse(
        f"SELECT upper(device) AS d, window(ts, '1 minute') AS w, max(x) FROM r GROUP BY {group}"
    )
    assert [key.lower().replace(" ", "") for key in query.keys.values()] == ["upper(device)"]
    (key,) = query.keys
    assert columns(query) == [("d", f"`{key}`"), ("w", "`window`"), (None, "`max(x)`")]


def test_brackets_around_a_key_mean_nothing():
    query = parse("SELECT device, max(x) AS m FROM r GROUP BY (device), ((y)), (window(ts, 5))")
    assert query.key_expressions == {"device": "device", "y": "y"}
    tuple_key = parse("SELECT max(x) AS m FROM r GROUP BY (device, y), window(ts, 5)")
    assert list(tuple_key.key_expressions.values()) == ["(device, y)"]
