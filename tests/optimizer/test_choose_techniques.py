"""The technique that a plan names for every component, and those that it is told to name."""

import pytest

import muntin as mt
from muntin.aggregates import monoids
from muntin.errors import PlanError
from muntin.optimizer.choose_techniques import least_technique


def ask(name, window, **aggregates):
    return mt.Query(name=name, window=window, aggregates=aggregates, time="t")


HOUR = mt.hopping("1 hour", every="1 minute")


def named(plan):
    """The techniques of each aggregate, by query."""
    return {
        query: {
            str(aggregate): names
            for aggregate, names in zip(node.aggregates, node.techniques, strict=True)
        }
        for tree in plan.trees
        for node in tree.nodes
        for query in node.queries
    }


def test_what_can_be_taken_out_again_is_subtracted_and_the_rest_goes_through_two_stacks():
    asked = {"n": mt.count(), "a": mt.avg("x"), "m": mt.max("x"), "v": mt.variance("x")}
    assert named(mt.plan([ask("q", HOUR, **asked)]))["q"] == {
        "count(*)": ("subtract",),
        "avg(x)": ("two_stacks_lite", "subtract"),
        "max(x)": ("two_stacks_lite",),
        "var_samp(x)": ("two_stacks_lite",),
    }


def test_a_sum_may_be_of_floats_until_its_type_is_known():
    assert named(mt.plan([ask("q", HOUR, s=mt.sum("x"))]))["q"]["sum(x)"] == ("two_stacks_lite",)
    assert least_technique((monoids.ADD_WIDE,), overlap=60.0) == "subtract"


def test_windows_that_overlap_little_are_combined_anew():
    for overlap, count, top in (
        (1.0, "recalc", "recalc"),
        (2.5, "subtract", "recalc"),
        (3.0, "subtract", "two_stacks_lite"),
    ):
        assert least_technique((monoids.ADD,), overlap=overlap) == count
        assert least_technique((monoids.MAX,), overlap=overlap) == top


def test_one_deque_pays_for_many_windows_of_a_selective_combine():
    queries = [
        ask(
            f"q{size}",
            mt.hopping(f"{size} minutes", every="1 minute"),
            m=mt.max("x"),
            a=mt.avg("x"),
        )
        for size in range(10, 20)
    ]
    few = named(mt.plan(queries[1:], strategy="shared"))
    many = named(mt.plan(queries, strategy="shared"))
    assert few["q15"]["max(x)"] == ("two_stacks_lite",)
    assert many["q15"]["max(x)"] == ("slick_deque",)
    assert many["q15"]["avg(x)"] == few["q15"]["avg(x)"] == ("two_stacks_lite", "subtract")


def test_where_single_answers_must_come_fast_no_technique_has_to_catch_up():
    minute = ask("minute", mt.tumbling("1 minute"), m=mt.max("x"))
    plan = mt.plan([minute, ask("q", HOUR, n=mt.count(), m=mt.max("x"))], latency=True)
    assert named(plan) == {
        "minute": {"max(x)": ("recalc",)},
        "q": {"count(*)": ("subtract",), "max(x)": ("daba_lite",)},
    }
    assert plan.workload.options.latency


@pytest.mark.parametrize("technique", ["two_stacks", "daba", "flat_fat", "slick_deque"])
def test_one_technique_can_be_forced(technique):
    queries = [
        ask("q", HOUR, m=mt.max("x"), n=mt.count()),
        ask("p", mt.tumbling("1 hour"), m=mt.max("x")),
    ]
    plan = mt.plan(queries, technique=technique)
    names = {name for one in named(plan).values() for each in one.values() for name in each}
    assert names == {technique}
    assert plan.workload.options.technique == technique
    assert f"by {technique}" in plan.explain()
    assert plan.workload_of(queries[:1]).options.technique == technique


def test_an_aggregate_that_a_forced_technique_cannot_serve_is_named():
    with pytest.raises(
        PlanError, match=r"subtract cannot serve max\(x\): it needs an exact inverse"
    ):
        mt.plan([ask("q", HOUR, n=mt.count(), m=mt.max("x"))], technique="subtract")
    with pytest.raises(PlanError, match=r"slick_deque cannot serve avg\(x\).*these can: recalc"):
        mt.plan([ask("q", HOUR, a=mt.avg("x"))], technique="slick_deque")
    # It may be a sum of integers.
    mt.plan([ask("q", HOUR, s=mt.sum("x"))], technique="subtract")
    with pytest.raises(PlanError, match="did you mean 'two_stacks'"):
        mt.plan([ask("q", mt.session("1 minute"), n=mt.count())], technique="two_stack")


def test_techniques_are_chosen_once_for_the_plan_that_is_taken(monkeypatch):
    trees = []

    def count(tree, *options):
        trees.append(tree)
        return tree

    monkeypatch.setattr("muntin.optimizer.choose_techniques.with_techniques", count)
    plan = mt.plan([ask("q", HOUR, s=mt.sum("x")), ask("r", mt.tumbling("1 day"), s=mt.sum("x"))])
    assert trees == list(plan.periodic_trees)
