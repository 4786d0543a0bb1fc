from dataclasses import replace

from muntin.aggregates.aggregate import max_
from muntin.model.workload import PlanOptions, workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.runtime.stream_plan.change_plan import first_start
from muntin.runtime.stream_plan.stream_plan_json import (
    state_of_plan,
    state_of_running,
    stream_plan_to_json,
)
from tests.support.queries import query
from tests.support.simulated_streams import needs_of


def running(*queries, **figures):
    plan = plan_for_stream(optimize(workload(queries, **figures)))
    return first_start(plan, needs_of(plan), buckets=(0,), delay=0, retain=0, ansi=True)


def test_costs_and_techniques_are_no_state():
    slow, fast = running(query(), rate=1, keys=1), running(query(), rate=1e6, keys=1e3)
    assert stream_plan_to_json(slow) != stream_plan_to_json(fast)
    assert state_of_running(slow) == state_of_running(fast)
    assert state_of_plan(slow.plan) == state_of_plan(fast.plan)
    forced = running(query(), options=PlanOptions(technique="two_stacks_lite"))
    assert state_of_running(forced) == state_of_running(slow)


def test_queries_generations_and_retention_are():
    one = running(query())
    for other in (
        running(query(), query(name="r")),
        running(query(aggregates={"hottest": max_("humidity")})),
        replace(one, generation=1),
        replace(one, retain=5),
        replace(one, complete_from={"q": 7}),
    ):
        assert state_of_running(other) != state_of_running(one)
