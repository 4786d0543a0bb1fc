"""ROLLUP, CUBE and GROUPING SETS in statements: which sets of keys they mean."""

import pytest

from muntin.model.grouping_sets import Mark
from muntin.model.query import Query
from muntin.sql import parse_sql

W = "window(ts, '1 minute')"


def parse(select, group_by):
    (query,) = parse_sql(f"SELECT {select}, count(*) AS n FROM r GROUP BY {group_by}")
    assert isinstance(query, Query), query.reason
    return query


@pytest.mark.parametrize(
    ("group_by", "sets"),
    [
        (f"{W}, ROLLUP(a, b)", ["ab", "a", ""]),
        (f"ROLLUP(a, b), {W}", ["ab", "a", ""]),
        (f"{W}, rollup ((a, b), c)", ["abc", "ab", ""]),
        (f"{W}, ROLLUP((a), r.b)", ["ab", "a", ""]),
        (f"{W}, CUBE(a, b)", ["ab", "a", "b", ""]),
        (f"{W}, a, CUBE(b)", ["ab", "a"]),
        (f"{W}, CUBE(a), ROLLUP(b, c)", ["abc", "ab", "a", "bc", "b", ""]),
        (f"{W}, GROUPING SETS (a, (b, a), ())", ["a", "ba", ""]),
        (f"{W}, GROUPING SETS (ROLLUP(a, b), CUBE(b), b)", ["ab", "a", "", "b", "", "b"]),
        (f"GROUPING SETS (({W}, a), ({W}))", ["a", ""]),
        (f"GROUPING SETS (({W}, a), (window))", ["a", ""]),
        (f"GROUPING SETS ((a, {W}), {W})", ["a", ""]),
        (f"{W}, a, b GROUPING SETS (({W}, b), (window, a), ({W}))", ["b", "a", ""]),
        (f"{W}, ROLLUP(1)", ["a"]),
        (f"{W}, ROLLUP(a, a)", ["a", "a", ""]),
    ],
)
def test_sets(group_by, sets):
    query = parse("a" if "1)" in group_by else "1 AS one", group_by)
    expected = [tuple(names) for names in sets]
    assert list(query.sets) == (expected if "1)" not in group_by else [("a",), ()])


def test_keys_that_are_expressions():
    query = parse("upper(a), s.b", f"{W}, ROLLUP(upper(a), s.b)")
    assert query.sets == (("upper(a)", "s.b"), ("upper(a)",), ())
    assert [column.expression for column in query.columns[:2]] == ["`upper(a)`", "`s.b`"]


def test_columns_of_one_name_of_two_relations():
    (query,) = parse_sql(f"SELECT r.a FROM r JOIN s ON r.i = s.i GROUP BY {W}, ROLLUP(r.a, s.a)")
    assert query.sets == (("r.a", "s.a"), ("r.a",), ())
    (query,) = parse_sql(f"SELECT 1 FROM r JOIN s ON r.i = s.i GROUP BY {W}, ROLLUP(r.a, a)")
    assert query.reason == "r.a and another key of the grouping sets may be the same"


@pytest.mark.parametrize(
    ("group_by", "order"),
    [
        (f"{W}, ROLLUP(a, b)", ("window", "a", "b")),
        (f"ROLLUP(a, b), {W}", ("a", "b", "window")),
        (f"b, {W}, a GROUPING SETS (({W}, a), ({W}, b))", ("b", "window", "a")),
        (f"GROUPING SETS (({W}, b), ({W}, a))", ("window", "b", "a")),
    ],
)
def test_marks_follow_the_order_of_group_by(group_by, order):
    query = parse("grouping(b) + grouping_id() AS m, Grouping( (b) ) AS g", group_by)
    assert [*query.marks.values()] == [Mark(keys=("b",), is_id=False), Mark(keys=order)]
    assert [column.expression for column in query.columns[:2]] == [
        "`grouping(b)` + `grouping_id()`",
        "`grouping(b)`",
    ]
    again = parse(f"grouping_id({', '.join(order)}) AS m", group_by)
    assert [*again.marks.values()] == [Mark(keys=order)]


def test_marks_in_having_and_by_their_alias():
    (query,) = parse_sql(
        f"SELECT a, grouping(a) AS g FROM r GROUP BY {W}, ROLLUP(a) HAVING g = 1 OR grouping(a) = 0"
    )
    assert query.having == "(`grouping(a)`) = 1 OR `grouping(a)` = 0"
