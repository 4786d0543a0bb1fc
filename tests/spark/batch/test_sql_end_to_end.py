"""SQL in, answers out: every statement answered as Spark answers it, shared or not."""

from contextlib import nullcontext
from functools import cache

import pytest

from muntin.api.batch import run
from muntin.model.query import PlainQuery
from muntin.sql import parse_sql
from tests.support.answers import assert_same
from tests.support.public_api import public_api

SHARED = {
    "named columns": """
        SELECT device, window, max(temp) AS hottest, min(temp) AS coldest FROM readings
        GROUP BY device, window(ts, '1 minute')""",
    "columns that Spark names": """
        SELECT window, device, max(temp), count(*), Max( load ) - MIN(load) FROM readings
        GROUP BY device, window(ts, '1 minute', '20 seconds')""",
    "ends of the window, expressions": """
        SELECT window.start, window.end AS finish, max(temp) - min(temp) AS spread,
               upper(device) AS name
        FROM readings GROUP BY window(ts, '90 seconds', '40 seconds', '7 seconds'), device""",
    "filters": """
        SELECT device, window, count(*) FILTER (WHERE temp > 5) AS warm, sum(load) AS work
        FROM readings WHERE load > 2 AND state <> '; -- x' GROUP BY device, window(ts, '1 minute')
        HAVING count(*) > 3 AND work > 10""",
    "no key": "SELECT window, stddev(temp) AS s, avg(load) AS m FROM readings "
    "GROUP BY window(ts, '2 minutes', '45 seconds')",
    "computed keys": """
        SELECT load % 2 AS odd, window, variance(temp) AS v, any(alarm) AS a, every(alarm) AS e
        FROM readings GROUP BY load % 2, window(ts, '100 seconds', '30 seconds')""",
    "strings, decimals": """
        SELECT device, window, max(state) AS s, sum(price) AS p, stddev_pop(temp) AS d,
               min(date(ts)) AS day, count_if(alarm) AS alarms, min(load) AS l, avg(temp) AS t
        FROM readings GROUP BY device, window(ts, '100 seconds', '30 seconds')""",
    "keys that only Spark compares": """
        SELECT tags, window, max(temp) AS hottest, sum(load) AS work FROM readings
        GROUP BY tags, window(ts, '100 seconds', '30 seconds')""",
    "a join": """
        SELECT r.device, window, max(r.temp) AS hottest
        FROM readings AS r JOIN (SELECT 'd1' AS device) AS one ON r.device = one.device
        GROUP BY r.device, window(r.ts, '1 minute')""",
    "distinct values": """
        SELECT window, device, count(DISTINCT load, device) AS n,
          sum(DISTINCT load) + max(load) AS s,
          round(avg(DISTINCT load) FILTER (WHERE temp > 1), 3) AS mean FROM readings
        GROUP BY device, window(ts, '100 seconds', '30 seconds') HAVING count(DISTINCT load) > 1""",
    "order statistics": """
        SELECT window, median(temp) AS middle, percentile(temp, array(0.1, 0.9D)) AS far,
          percentile_cont(0.3) WITHIN GROUP (ORDER BY load DESC NULLS LAST) AS c, mode(load, true),
          percentile_disc(0.3) WITHIN GROUP (ORDER BY load) FILTER (WHERE temp > 1) AS d, count(*)
        FROM readings GROUP BY window(ts, '100 seconds', '30 seconds')""",
    "keys alone": "SELECT device, window FROM readings GROUP BY device, window(ts, '1 minute')",
}
PLAIN = {
    "distinct": "SELECT window, stddev(DISTINCT load) AS n FROM readings "
    "GROUP BY window(ts, '1 minute')",
    "mode": "SELECT window, mode(temp) AS m FROM readings WHERE temp = 20 "
    "GROUP BY window(ts, '1 minute')",
    "session": "SELECT device, session_window, count(*) AS n FROM readings "
    "GROUP BY device, session_window(ts, CASE WHEN load > 3 THEN '5 seconds' ELSE '1 second' END)",
    "mean of decimals": "SELECT window, avg(price) AS p FROM readings "
    "GROUP BY window(ts, '1 minute')",
    "no window": "SELECT device, max(temp) AS t FROM readings GROUP BY device",
}


@pytest.fixture(scope="module", params=["internal", "public"])
def answers(request, readings):
    """The answers, with Spark's internal classes and with public API alone."""
    text = ";\n".join(f"-- name: {n}\n{s}" for n, s in {**SHARED, **PLAIN}.items())
    api = public_api() if request.param == "public" else nullcontext()
    with api, run(parse_sql(text), {"readings": readings}) as results:
        yield results


@pytest.fixture(scope="module")
def sparks(spark, readings):
    """A function that returns Spark's answer and its rows, computed once for both APIs."""

    @cache
    def answer(name):
        readings.createOrReplaceTempView("readings")
        frame = spark.sql({**SHARED, **PLAIN}[name])
        return frame, frame.collect()

    return answer


@pytest.mark.core
@pytest.mark.parametrize("name", [*SHARED, *PLAIN])
def test_the_answer_is_sparks(sparks, answers, name):
    expected, rows = sparks(name)
    assert_same(answers[name], expected, name, rows)


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_not_shared_says_why(answers, name):
    query = answers.plan.query(name)
    assert isinstance(query, PlainQuery)
    # Long reasons go on in the next line, beside the branches.
    assert query.reason in " ".join(answers.plan.explain().replace("│", " ").split())


@pytest.mark.parametrize("name", SHARED)
def test_what_can_be_shared_is(answers, name):
    tree, node = answers.plan.find_node(name)
    assert name in node.queries
    assert tree.cost > 0
