"""A plan's costs computed anew are those that it was chosen for."""

from dataclasses import replace

import pytest

import muntin as mt
from muntin.model.plan import Plan
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.price_plan import price_plan
from muntin.optimizer.strategies import STRATEGIES
from muntin.sql import parse_sql

SQL = """
-- name: minute
SELECT device, window, max(temp) FROM readings GROUP BY device, window(ts, '1 minute');
-- name: hour
SELECT device, window, max(temp), avg(load) FROM readings
GROUP BY device, window(ts, '1 hour', '5 minutes');
-- name: errors
SELECT site, window, count(*) FROM readings WHERE status = 'error'
GROUP BY site, window(ts, '10 minutes');
-- name: visits
SELECT device, session_window, count(*) FROM readings GROUP BY device, session_window(ts, '30 s');
-- name: breaks
SELECT device, session_window, sum(load) FROM readings GROUP BY device, session_window(ts, '90 s');
-- name: day
SELECT device, window, try_avg(temp) FROM readings
GROUP BY device, window(ts, '24 hours', '10 minutes')
"""


def asked(rate=1000.0, keys=100.0):
    work = workload(parse_sql(SQL), rate=rate, keys=keys)
    return replace(work, shares={"status = 'error'": 0.1}, live_keys={frozenset({"site"}): 7.0})


def costs(plan: Plan) -> dict[str, float]:
    return {
        name: getattr(plan, name)
        for name in ("cost", "unshared_cost", "plain_cost", "cost_of_plain")
    }


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "unshared"])
@pytest.mark.parametrize("rate", [10.0, 1e5])
def test_a_plan_costs_the_same_when_it_is_priced_anew(strategy, rate):
    plan = optimize(asked(rate), strategy)
    assert costs(price_plan(plan)) == pytest.approx(costs(plan))


def test_a_plan_for_other_figures_costs_what_one_made_for_them_does():
    plan = price_plan(optimize(asked(), "shared"), asked(5e4, 3.0))
    assert costs(plan) == pytest.approx(costs(optimize(asked(5e4, 3.0), "shared")))
    assert (plan.rate, plan.keys, plan.workload.rate_known, plan.strategy_costs) == (
        5e4,
        3.0,
        True,
        {},
    )


def test_a_query_that_spark_answers_alone_costs_the_same_on_all_sides():
    few = [query for query in parse_sql(SQL) if query.name != "day"]
    day = parse_sql(SQL)[-1]
    assert isinstance(day, mt.PlainQuery)
    assert day.window == mt.hopping("24 hours", every="10 minutes")
    without, plan = (optimize(workload(queries), "shared") for queries in (few, [*few, day]))
    more = {name: cost - costs(without)[name] for name, cost in costs(plan).items()}
    assert len({round(each) for each in more.values()}) == 1
    # Spark copies each event into the 144 windows that have it.
    assert more["cost"] > 143 * plan.rate * plan.workload.prices.copy
    assert plan.cost / plan.plain_cost > without.cost / without.plain_cost
