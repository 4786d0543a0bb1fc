"""Queries over joins that differ in their time bounds: one join, and Spark's own answers."""

import random
from itertools import product

import pytest

import muntin as mt
from muntin.model.query import Query
from tests.support.answers import assert_equal_answers

# Around the night of 10 March 2024, when New York's clocks go forward, and that in November.
STARTS = [
    "2024-03-09 20:00:00",
    "2024-03-10 01:30:00",
    "2024-11-02 23:00:00",
    "2024-11-03 00:50:00",
]
MINUTES = [0, 1, 5, 40, 59, 60, 61, 90, 1380, 1410, 1440, 1441, 1500, 10079, 10080, 10081]


@pytest.fixture(scope="module")
def streams(spark):
    """Clicks and buys: few users and ids, some null; many equal times, some null."""
    chance = random.Random(5)

    def rows():
        values = []
        for start, minutes in product(STARTS, MINUTES):
            ts = f"(TIMESTAMP'{start}' + INTERVAL '{minutes}' MINUTE)"
            values.append(f"('bob', {chance.choice([1, 2, 'NULL'])}, {ts}, {chance.randrange(9)})")
            if chance.random() < 0.1:
                user = chance.choice(["'ann'", "'bob'", "NULL"])
                missing = chance.choice([ts, "CAST(NULL AS TIMESTAMP)"])
                values.append(f"({user}, 1, {missing}, {chance.randrange(9)})")
        return spark.sql(
            f"SELECT user, id, ts, CAST(ts AS TIMESTAMP_NTZ) AS local, CAST(ts AS DATE) AS day, "
            f"CAST(ts AS STRING) AS text, price FROM VALUES {', '.join(values)} "
            f"AS t(user, id, ts, price)"
        ).coalesce(1)

    return {"clicks": rows().localCheckpoint(), "buys": rows().localCheckpoint()}


HOUR = "window({}, '1 hour')"
BOTH = (HOUR, "window({}, '2 hours', '30 minutes')")


def statements(relations, time="b.ts", windows=BOTH):
    """A query over each relation and window; one that is alone would be run as it is written."""
    windows = [window.format(time) for window in windows]
    return mt.parse_sql(
        ";\n".join(
            f"SELECT a.user, {window} AS w, count(*), sum(b.price) AS paid "
            f"FROM {relation} GROUP BY a.user, {window}"
            for relation, window in product(relations, windows)
        )
    )


def assert_one_join(relations, streams, time="b.ts", *, joins=1, windows=BOTH):
    """All queries read one relation, or so many, and give what Spark gives."""
    queries = statements(relations, time, windows)
    assert all(isinstance(query, Query) for query in queries)
    with mt.run(queries, streams, strategy="shared") as results:
        assert len({query.source for query in results.plan.queries}) == joins
        assert_equal_answers(results, streams)


JOIN = "clicks a JOIN buys b ON a.user = b.user AND"


@pytest.mark.parametrize(
    "lengths",
    [
        ("1 HOUR", "1 DAY", "7 DAYS"),
        pytest.param(("5 MINUTES", "1 HOUR", "90 MINUTES"), marks=pytest.mark.slow),
    ],
)
def test_both_spellings(streams, lengths):
    between = [f"{JOIN} b.ts BETWEEN a.ts AND a.ts + INTERVAL {length}" for length in lengths]
    apart = [f"{JOIN} b.ts >= a.ts AND b.ts < a.ts + INTERVAL {length}" for length in lengths]
    assert_one_join([*between, *apart], streams, windows=[HOUR])


def test_bounds_in_where(streams):
    bound = "a.user = b.user AND a.id = b.id AND b.ts >= a.ts AND b.ts <= a.ts + INTERVAL {}"
    assert_one_join(
        [
            "clicks a, buys b WHERE " + bound.format("1 HOUR"),
            "clicks a, buys b WHERE b.price > 3 AND " + bound.format("2 DAYS"),
            "clicks AS a JOIN buys b ON " + bound.format("9 DAYS"),
            "clicks a CROSS JOIN buys b WHERE " + bound.format("9 DAYS") + " AND a.price < b.price",
        ],
        streams,
    )


def test_differences(streams):
    assert_one_join(
        [
            f"{JOIN} b.ts - a.ts <= INTERVAL 1 HOUR AND b.ts - a.ts > INTERVAL -2 HOURS",
            f"{JOIN} b.ts - a.ts BETWEEN INTERVAL '0' SECOND AND INTERVAL '23 hours 30 minutes'",
            f"{JOIN} b.ts - a.ts < INTERVAL 1 DAY AND b.ts - a.ts > - INTERVAL '1' HOUR",
        ],
        streams,
    )


@pytest.mark.parametrize(
    "lengths",
    [
        # A day later may be earlier than 23 and a half hours later, and, as text, an hour and a
        # half later may be before 45 minutes later.
        ["'23 hours 30 minutes'", "24 HOURS", "1 DAY"],
        pytest.param(["45 MINUTES", "90 MINUTES"], marks=pytest.mark.slow),
    ],
    ids=lambda lengths: lengths[-1],
)
def test_times_of_every_type_when_clocks_change(streams, lengths):
    bound = "b.{0} >= a.{0} - INTERVAL {1} AND b.{0} <= a.{0} + INTERVAL {1}"
    columns = ["ts", "local", "day", "text"]
    bounds = [bound.format(*pair) for pair in product(columns, lengths)]
    relations = [f"{JOIN} {each}" for each in bounds]
    assert_one_join(relations, streams, joins=len(columns), windows=[HOUR])


def test_a_table_of_its_own(streams):
    later = (
        "clicks a JOIN clicks b ON a.user <=> b.user AND b.ts > a.ts AND b.ts < a.ts + INTERVAL {}"
    )
    names = "JOIN (SELECT 'ann' AS user, 'Ann' AS name) n ON n.user = a.user"
    assert_one_join([later.format("1 HOUR"), later.format("5 DAYS")], streams, "a.ts")
    assert_one_join(
        [f"{later.format('1 HOUR')} {names}", f"{later.format('5 DAYS')} {names}"], streams, "a.ts"
    )


def test_left_joins_stay_apart(streams):
    left = (
        "clicks a LEFT JOIN buys b ON a.user = b.user AND b.ts BETWEEN a.ts AND a.ts + INTERVAL {}"
    )
    queries = statements([left.format("1 HOUR"), left.format("1 DAY")], "a.ts")
    with mt.run(queries, streams, strategy="shared") as results:
        assert len({query.source for query in results.plan.queries}) == 2
        assert_equal_answers(results, streams)


def test_an_unshared_plan_keeps_the_users_joins():
    queries = statements(
        [f"{JOIN} b.ts < a.ts + INTERVAL {length}" for length in ("1 HOUR", "9 DAYS")]
    )
    sources = {query.source for query in queries}
    assert {query.source for query in mt.plan(queries, strategy="unshared").queries} == sources
    assert len({query.source for query in mt.plan(queries, strategy="shared").queries}) == 1
