"""The user's text goes to Spark as it was written: nothing is regenerated."""
# ruff: noqa: E501

import pytest

from muntin.model.query import Query
from muntin.sql import parse_sql

# Each of these comes back changed from a SQL generator: casts, formats, literals, operators.
EXPRESSIONS = [
    "x::int",
    "cast(x AS decimal(10,2))",
    "try_cast(x AS string)",
    "date_format(ts, 'yyyy-MM-dd HH:mm')",
    "to_timestamp(s, 'dd/MM/yyyy')",
    "date_add(d, 3)",
    "datediff(a, b)",
    "INTERVAL '1' DAY",
    "INTERVAL 3 days 2 hours",
    "DATE '2020-01-01'",
    "1.50BD",
    "1e3",
    "10L",
    "X'1F'",
    "'it\\'s'",
    "'two''quotes'",
    '"double; -- quoted"',
    "'semi;colon -- and /* comment */ inside'",
    "r'\\d+'",
    "'température 😀'",
    "`strange `` name`",
    "a <=> b",
    "a != b",
    "a DIV b",
    "a % b",
    "nvl(a, b)",
    "ifnull(a, b)",
    "IF(a, b, c)",
    "a RLIKE '^x'",
    "!a",
    "substr(a, 1, 2)",
    "EXTRACT(day FROM ts)",
    "trim(BOTH ' ' FROM a)",
    "a IS NOT DISTINCT FROM b",
    "s.from.where",
    "m['k'][0].f",
    "transform(xs, x -> x + 1)[0]",
    "named_struct('a', 1).a",
    "CASE a WHEN 1 THEN 'x' ELSE 'y' END",
    "array(1,2)[0]",
    "from_unixtime(a,'yyyy')",
]


def only(named):
    (value,) = named.values()
    return value


def within(key):
    """A key without the brackets around it, which a column does not keep."""
    return key[1:-1] if key.startswith("(") else key


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize(
    "place",
    [
        ("SELECT max({}) AS a FROM r GROUP BY window(ts, 5)", lambda q: only(q.aggregates).argument),
        ("SELECT max(x) FILTER (WHERE {}) AS a FROM r GROUP BY window(ts, 5)", lambda q: only(q.aggregates).where),
        ("SELECT count(*) FROM r WHERE {} GROUP BY window(ts, 5)", lambda q: q.where),
        ("SELECT count(*) FROM r GROUP BY window({}, 5)", lambda q: q.time),
        ("SELECT count(*) FROM r GROUP BY ({}), window(ts, 5)", lambda q: within(only(q.keys))),
        ("SELECT count(*) FROM (SELECT {} FROM r) t GROUP BY window(ts, 5)", lambda q: q.source.parts[0][8:-6]),
    ],
    ids=["argument", "filter", "where", "time", "key", "relation"],
)  # fmt: skip
def test_expression_is_verbatim(text, place):
    template, found = place
    (query,) = parse_sql(template.format(text))
    assert isinstance(query, Query), query.reason
    assert found(query) == text


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("date_format(max(ts),'yyyy-MM-dd')", "date_format(`max(ts)`,'yyyy-MM-dd')"),
        ("max(x)::decimal(10,2)", "`max(x)`::decimal(10,2)"),
        ("-max(x)DIV 2", "-`max(x)`DIV 2"),
        ("'max(x)' || max( x )", "'max(x)' || `max(x)`"),
        ("if(max(x)>1e3,10L,X'1F')", "if(`max(x)`>1e3,10L,X'1F')"),
        ("max(x)  /* half */ /\n -- of it\n 2", "`max(x)` / 2"),
    ],
)
def test_what_stands_around_an_aggregate_is_verbatim(item, expected):
    (query,) = parse_sql(f"SELECT {item} AS i FROM r GROUP BY window(ts, 5)")
    assert query.columns[0].expression == expected


def test_comments_are_harmless_anywhere():
    (query,) = parse_sql("""
      SELECT -- first
        device /* key */ , max( /* what */ temp -- of it
        ) AS /* named */ m
      FROM -- here
        r /* table */
      WHERE x -- eks
        > 1 AND -- and
        y
      GROUP BY device -- key
        , window( -- cut
          ts , '1 minute' -- size
        )
      HAVING -- keep
        m -- alias
        > 1 -- done
    """)
    assert query.aggregates["max(temp)"].argument == "temp"
    assert query.where == "x > 1 AND y"
    assert query.having == "(`max(temp)`) > 1"
    assert query.source.parts == ("", " AS `r`")
    assert query.columns[1].name == "m"
    assert query.statement.fill().count("--") == 10
