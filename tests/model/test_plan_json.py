"""A plan survives JSON, for every strategy; another version is refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.errors import ModelError
from muntin.model.plan_json import (
    definition,
    plan_from_json,
    plan_to_json,
    query_from_json,
    query_to_json,
)
from muntin.model.query import PlainQuery
from muntin.model.trees import RECALC
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.strategies import STRATEGIES
from muntin.sql_text import SqlText
from tests.support.examples import examples
from tests.support.workloads import workloads

PLAIN = PlainQuery(
    name="alone", statement=SqlText(("SELECT * FROM ", ""), ("t",)), reason="not a window"
)


@settings(deadline=None, max_examples=examples(38))
@given(queries=workloads(), strategy=st.sampled_from(sorted({*STRATEGIES} - {"exact"})))
def test_a_plan_comes_back_as_it_was(queries, strategy):
    plan = optimize(workload([*queries, PLAIN]), strategy)
    data = json.loads(json.dumps(plan_to_json(plan)))
    back = plan_from_json(data)
    assert back.trees == plan.trees
    assert plan_to_json(back) == plan_to_json(plan)
    assert [one.name for one in back.queries] == [one.name for one in plan.queries]
    for ours, theirs in zip(back.queries[:-1], plan.queries[:-1], strict=True):
        assert ours.grouping == theirs.grouping
        assert list(ours.key_expressions.items()) == list(theirs.key_expressions.items())
        assert ours.to_sql() == theirs.to_sql()


def test_how_answers_are_computed_comes_back_too():
    queries = [
        mt.Query(name="q", window=mt.tumbling("4 days"), aggregates={"n": mt.count()}, time="t")
    ]
    plan = mt.plan(queries, technique="flat_fat", latency=True)
    back = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
    assert (back.workload.options.technique, back.workload.options.latency) == ("flat_fat", True)
    assert back.trees[0].nodes[0].techniques == (("flat_fat",),)


def test_a_plan_of_an_earlier_version_has_one_name_for_each_aggregate():
    queries = [
        mt.Query(name="q", window=mt.tumbling("4 days"), aggregates={"a": mt.avg("x")}, time="t")
    ]
    data = plan_to_json(mt.plan(queries))
    del data["technique"], data["latency"]
    data["trees"][0]["nodes"][0]["techniques"] = ["best"]
    back = plan_from_json(data)
    assert back.trees[0].nodes[0].techniques == ((RECALC, RECALC),)
    assert back.workload.options.technique is None


def test_another_version_is_refused():
    with pytest.raises(ModelError, match=r"version 99.*reads version 1"):
        plan_from_json({"version": 99})


def test_the_names_that_having_uses_are_no_part_of_what_a_query_asks_for():
    (query,) = mt.parse_sql(
        "SELECT max(x) AS m FROM r GROUP BY window(ts, '1 hour') HAVING m > 1 ORDER BY m LIMIT 2"
    )
    assert query.item_names == ("m",)
    data = query_to_json(query)
    assert query_from_json(data).item_names == ("m",)
    assert query_from_json(data).ending == "ORDER BY (`max(x)`) LIMIT 2"
    # As an earlier version wrote it.
    del data["item_names"]
    assert definition(query_from_json(data)) == definition(query)
