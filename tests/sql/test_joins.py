"""Joins that differ only in their time bounds become one, and nothing else changes."""

from dataclasses import replace

import pytest

from muntin.model.query import PlainQuery, Query
from muntin.sql import parse_sql
from muntin.sql.time_bounds import read_bounds
from muntin.sql.widen_joins import widen_joins
from muntin.sql_text import SqlText

HEAD = "SELECT a.user, window(b.ts, '1 hour') AS w, count(*), avg(b.price) FROM"
BY = "GROUP BY a.user, window(b.ts, '1 hour')"
JOIN = "clicks a JOIN buys b ON a.user = b.user"
WEEK = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 7 DAYS"
WIDE = f"{JOIN} AND b.ts >= a.ts AND b.ts <= a.ts + INTERVAL 7 DAYS"


def parsed(*relations: str) -> list[Query]:
    return parse_sql(";\n".join(f"{HEAD} {relation} {BY}" for relation in relations))


def widened(*relations: str) -> list[tuple[str, str | None]]:
    """The relation and the filter of each query after widening."""
    return [(str(query.source), query.where) for query in widen_joins(parsed(*relations))]


def test_narrower_bounds_become_filters():
    lengths = ["1 HOUR", "1 DAY", "7 DAYS"]
    bounds = [f"b.ts BETWEEN a.ts AND a.ts + INTERVAL {length}" for length in lengths]
    assert widened(*(f"{JOIN} AND {bound}" for bound in bounds)) == [
        (WIDE, bounds[0]),
        (WIDE, bounds[1]),
        (WIDE, None),
    ]


@pytest.mark.parametrize(
    ("other", "where"),
    [
        (
            f"{JOIN} AND b.ts >= a.ts AND b.ts < a.ts + INTERVAL '1' HOUR",
            "b.ts < a.ts + INTERVAL '1' HOUR",
        ),
        (
            "clicks AS a inner join buys AS b ON (b.user = a.user and a.ts<=b.ts) "
            "WHERE b.price > 3 AND a.ts + INTERVAL '1 hour' > b.ts",
            "b.price > 3 AND a.ts + INTERVAL '1 hour' > b.ts",
        ),
        (
            "clicks a, buys b WHERE (b.price > 3 OR b.price < 1) AND a.user = b.user "
            "AND b.ts >= a.ts AND b.ts <= a.ts + INTERVAL 1 HOUR",
            "(b.price > 3 OR b.price < 1) AND b.ts <= a.ts + INTERVAL 1 HOUR",
        ),
        (
            f"clicks a CROSS JOIN buys b WHERE a.user = b.user AND {WEEK}",
            None,
        ),
        (
            f"{JOIN} AND {WEEK} AND b.ts <= a.ts + INTERVAL 2 HOURS",
            "b.ts <= a.ts + INTERVAL 2 HOURS",
        ),
    ],
)
def test_other_spellings_of_the_same_join(other, where):
    assert widened(f"{JOIN} AND {WEEK}", other) == [(WIDE, None), (WIDE, where)]


def test_bounds_that_may_cross_are_both_kept():
    # In the night when clocks go forward, 23 and a half hours end after a day does.
    relations = widened(
        f"{JOIN} AND b.ts <= a.ts + INTERVAL 1 DAY",
        f"{JOIN} AND b.ts < a.ts + INTERVAL '23 hours 30 minutes'",
    )
    either = "b.ts <= a.ts + INTERVAL 1 DAY OR b.ts < a.ts + INTERVAL '23 hours 30 minutes'"
    assert {relation for relation, _ in relations} == {f"{JOIN} AND ({either})"}
    assert all(where is not None for _, where in relations)


def test_widening_again_adds_nothing():
    bounds = ["a.ts + INTERVAL 1 DAY", "a.ts + INTERVAL 23 HOURS", "a.ts + INTERVAL 2 MINUTES"]
    once = widen_joins(parsed(*(f"{JOIN} AND b.ts < {bound}" for bound in bounds)))
    assert len({query.source for query in once}) == 1
    again = widen_joins(once)
    assert [(q.source, q.where) for q in again] == [(q.source, q.where) for q in once]


def test_equal_joins_stay_as_they_are():
    queries = parsed(f"{JOIN} AND {WEEK}", f"{JOIN} AND {WEEK} WHERE b.price > 3")
    assert widen_joins(queries) == tuple(queries)


def test_differences_are_compared_to_the_microsecond():
    relations = widened(
        f"{JOIN} AND b.ts - a.ts < INTERVAL 60 MINUTES",
        f"{JOIN} AND INTERVAL 1 HOUR >= (b.ts - a.ts)",
        f"{JOIN} AND b.ts - a.ts < INTERVAL 1 HOUR WHERE b.price > 3",
    )
    wide = f"{JOIN} AND b.ts - a.ts <= INTERVAL 1 HOUR"
    assert relations == [
        (wide, "b.ts - a.ts < INTERVAL 60 MINUTES"),
        (wide, None),
        (wide, "b.ts - a.ts < INTERVAL 1 HOUR AND b.price > 3"),
    ]


def test_the_last_of_several_joins_has_the_bounds():
    join = "clicks a JOIN buys b ON a.user = b.user{} JOIN users u ON u.id = a.user"
    relations = widened(
        join.format(" AND b.ts - a.ts <= INTERVAL 1 HOUR"),
        f"{join.format('')} WHERE b.ts - a.ts <= INTERVAL 2 HOURS",
    )
    wide = f"{join.format('')} AND b.ts - a.ts <= INTERVAL 2 HOURS"
    assert relations == [(wide, "b.ts - a.ts <= INTERVAL 1 HOUR"), (wide, None)]


def test_comparisons_of_other_columns_are_no_bounds():
    assert widened(f"{JOIN} AND {WEEK}", f"{JOIN} AND {WEEK} WHERE a.price < b.price") == [
        (f"{JOIN} AND {WEEK}", None),
        (f"{JOIN} AND {WEEK}", "a.price < b.price"),
    ]


def test_bounds_in_where_alone_move_into_the_join():
    assert widened(f"{JOIN} WHERE {WEEK}", f"{JOIN} WHERE {WEEK} AND b.price > 3") == [
        (WIDE, None),
        (WIDE, "b.price > 3"),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Another kind of join: a pair that a filter drops would leave a row without a partner.
        *(
            (f"{kind} buys b ON a.user = b.user AND {WEEK}", "7 DAYS")
            for kind in ("LEFT JOIN", "FULL OUTER JOIN", "RIGHT JOIN")
        ),
        (f"JOIN buys b USING (user) WHERE {WEEK}", "7 DAYS"),
        (f"NATURAL JOIN buys b WHERE {WEEK}", "7 DAYS"),
        # No fixed length, or no literal.
        ("JOIN buys b ON a.user = b.user AND b.ts <= a.ts + INTERVAL 1 MONTH", "1 MONTH"),
        ("JOIN buys b ON a.user = b.user AND b.ts <= a.ts + make_interval(a.n)", "interval(a.n"),
        ("JOIN buys b ON a.user = b.user AND b.ts <= a.ts + a.patience", "a.patience"),
        ("JOIN buys b ON a.user = b.user AND NOT b.ts > a.ts + INTERVAL 7 DAYS", "7 DAYS"),
        ("JOIN buys b ON a.user = b.user AND (b.ts < a.ts + INTERVAL 7 DAYS OR b.x)", "7 DAYS"),
        # Only one relation.
        ("WHERE a.b BETWEEN a.ts AND a.ts + INTERVAL 7 DAYS", "7 DAYS"),
    ],
)
def test_what_is_left_alone(first, second):
    others = {"7 DAYS": "1 DAY", "1 MONTH": "2 MONTHS", "a.patience": "b.patience"}
    other = first.replace(second, others.get(second, "interval(b.n"))
    queries = parse_sql(
        ";\n".join(
            f"SELECT count(*) FROM clicks a {join} GROUP BY window(a.ts, '1 hour')"
            for join in (first, other)
        )
    )
    assert first != other
    assert widen_joins(queries) == tuple(queries)


@pytest.mark.parametrize(
    "other",
    [
        # Another relation, another order of relations, another condition, another time.
        f"clicks a JOIN sales b ON a.user = b.user AND {WEEK}",
        f"buys b JOIN clicks a ON a.user = b.user AND {WEEK}",
        f"clicks a JOIN buys b ON a.user <=> b.user AND {WEEK}",
        f"{JOIN} AND b.price > 3 AND {WEEK}",
        f"{JOIN} AND b.seen BETWEEN a.ts AND a.ts + INTERVAL 1 DAY",
        # Bounded from one side only.
        f"{JOIN} AND b.ts <= a.ts + INTERVAL 1 DAY",
        f"{JOIN} AND a.ts >= b.ts - INTERVAL 1 DAY AND a.ts <= b.ts",
        f"{JOIN}",
    ],
)
def test_other_signatures(other):
    day = f"{JOIN} AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 DAY"
    queries = parsed(day, other)
    assert widen_joins(queries) == tuple(queries)


def test_windows_over_another_time():
    bounds = ["1 HOUR", "1 DAY"]
    first, second = parsed(*(f"{JOIN} AND b.ts < a.ts + INTERVAL {bound}" for bound in bounds))
    second = parse_sql(str(second.statement).replace("window(b.ts", "window(a.ts"))[0]
    second = parse_sql(f"-- name: second\n{second.statement}")[0]
    assert widen_joins([first, second]) == (first, second)


def test_filters_that_only_spark_can_read():
    first, second = parsed(f"{JOIN} AND {WEEK}", f"{JOIN} AND b.ts < a.ts + INTERVAL 1 DAY")
    odd = [replace(query, where="'") for query in (first, second)]
    assert widen_joins(odd) == tuple(odd)


def test_the_rest_of_a_query_stays():
    queries = [
        *parsed(f"{JOIN} AND {WEEK}", f"{JOIN} AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"),
        PlainQuery(name="plain", statement=SqlText(("SELECT 1",)), reason="no window"),
    ]
    found = widen_joins(queries)
    assert found[2] is queries[2]
    for before, after in zip(queries[:2], found[:2], strict=True):
        assert after is not before
        assert after.source.tables == before.source.tables == ("clicks", "buys")
        for slot in ("name", "window", "time", "keys", "having", "columns", "statement"):
            assert getattr(after, slot) == getattr(before, slot)
        assert dict(after.aggregates) == dict(before.aggregates)
    assert found[0].source == found[1].source


def test_one_table_in_two_places():
    join = "events a JOIN events b ON a.user = b.user AND b.ts < a.ts + INTERVAL {}"
    found = widen_joins(parsed(join.format("1 HOUR"), join.format("9 DAYS")))
    assert found[0].source == found[1].source
    assert found[0].source.tables == ("events", "events")
    assert found[0].source.fill({"events": "view"}) == join.format("9 DAYS").replace(
        "events", "view"
    )


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("b.t < a.t + INTERVAL 1 HOUR", ["b.t < a.t + INTERVAL 1 HOUR"]),
        ("a.t + INTERVAL 1 HOUR > b.t", ["b.t < a.t + INTERVAL 1 HOUR"]),
        ("(b.t) >= a.t - (INTERVAL '5' MINUTES)", ["b.t >= a.t - INTERVAL '5' MINUTES"]),
        ("b.t - a.t > - INTERVAL 1 DAY", ["b.t - a.t > - INTERVAL 1 DAY"]),
        (
            "b.t - a.t BETWEEN INTERVAL -1 HOUR AND INTERVAL '1 day 2 hours'",
            ["b.t - a.t >= INTERVAL -1 HOUR", "b.t - a.t <= INTERVAL '1 day 2 hours'"],
        ),
        ("a.t <= b.t", ["a.t <= b.t"]),
        ("b.t = a.t + INTERVAL 1 HOUR", []),
        ("b.t < a.t + INTERVAL 1 YEAR", []),
        ("b.t < a.t + INTERVAL a.n HOURS", []),
        ("b.t < a.t + 5", []),
        ("b.t < f(a.t) + INTERVAL 1 HOUR", []),
        ("b.t < a.t + INTERVAL 1 HOUR + INTERVAL 1 HOUR", []),
        ("b.t - INTERVAL 1 HOUR < a.t + INTERVAL 1 HOUR", []),
        ("b.t < INTERVAL 1 HOUR", []),
        ("b.t < b.t + INTERVAL 1 HOUR", []),
        ("b.t - a.t < c.t", []),
        ("b.t NOT BETWEEN a.t AND a.t + INTERVAL 1 HOUR", []),
        ("b.t <", []),
        ("'", []),
    ],
)
def test_bounds(condition, bounds):
    assert [bound.to_sql() for bound in read_bounds(condition)] == bounds
