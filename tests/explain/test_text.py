"""A plan in words: what is said of it, and that it fits a terminal."""

import re
from dataclasses import replace

import pytest

import muntin as mt
from muntin import explain
from muntin.aggregates.aggregate import max_
from muntin.errors import ModelError
from muntin.explain import words
from muntin.model.passes import Engine, Pass
from muntin.model.prices import PAPERS, Prices
from muntin.model.query import Query
from muntin.model.windows import tumbling
from muntin.model.workload import Workload, workload
from muntin.optimizer.optimize import optimize
from tests.support.hand_made_plans import (
    every_plan,
    hundred,
    pair,
    small,
    stairs,
)

SMALL = """
factor plan: 4 of 5 queries share; 2 scans instead of 5
  1 tree; costs for 1k events/s (assumed) and 100 keys
  this plan          1.5k ops/s  <0.1 CPU s/h  reading 1.0k, answering 300, Spark alone 200
  each query alone  13.0k ops/s   0.1 CPU s/h  this plan costs 8.7x less
  plain Spark        1.3M ops/s  14.0 CPU s/h  this plan costs 867x less
  1 op merges two partial aggregates, about 3 ns; CPU s/h is CPU seconds for each hour of events
  costs are estimates; fixed ones, such as starting a job, are left out

tree: readings where temp > 0 by device over ts
  reading    1.0k ops/s  events are added to slices of 1 minute
  answering   300 ops/s  windows are merged from slices, or from the window that they hang below

window                           ops/s  computes                            answers
├─ 1 minute                       12.3  min(temp), max(temp) by recalc      fast, quick
│  └─ 10 minutes                   150  min(temp), max(temp) by recalc      factor window
│     └─ 1 day every 10 minutes   67.7  min(temp), max(temp) by two_stacks  day
└─ 5 minutes                      70.0  min(temp) by recalc                 five

factor window: no query asks for it, but others are cheaper to build from it

answered by Spark alone
└─ median  percentile(temp) is not built from slices
"""


def test_a_small_plan_in_full():
    assert explain.text(small(), 100) == SMALL.strip("\n")


def test_passes_and_what_trees_take_from_them_are_said():
    plan = small()
    (tree,) = plan.trees
    for engine, reading, made in (
        (Engine.SPARK, "Spark adds events to slices of 1 minute by device", "makes these slices"),
        (
            Engine.COMPILED,
            "compiled code gets the events once",
            "adds events to slices of 1 minute",
        ),
    ):
        shared = Pass(
            number=0, engine=engine, keys=tree.grouping.keys, slicing=tree.slicing, cost=500.0
        )
        passed = replace(plan, trees=(replace(tree, slicing_pass=shared),))
        for view in (explain.text(passed, 100), explain.svg(passed)):
            assert "read once for 1 tree" in view
            assert reading in view
            assert f"pass 1 {made}" in view
            assert "pass 1" not in explain.text(plan, 100)


STRATEGIES = """
auto plan: 2 queries, nothing to share; 2 scans
  2 trees; costs for 100 events/s and 200 keys
  this plan         49.7k ops/s  0.5 CPU s/h  reading 30.0k, answering 19.7k
  each query alone  49.7k ops/s  0.5 CPU s/h  this plan costs the same
  plain Spark       49.7k ops/s  0.5 CPU s/h  this plan costs the same
  1 op merges two partial aggregates, about 3 ns; CPU s/h is CPU seconds for each hour of events
  costs are estimates; fixed ones, such as starting a job, are left out

strategies by cost
  49.7k ops/s             unshared (chosen)
  54.5k ops/s  1.1x more  shared, intermediate
  Sharing everything would not pay: a slice would have only 1.3 events of a key on average. The
  events are read 2 times instead.
"""


def test_auto_says_what_it_tried_and_why_it_does_not_share():
    second, hour = tumbling("1 second"), tumbling("1 hour")
    queries = [
        Query(name=str(w), window=w, aggregates={"m": max_("x")}, keys=["k"], time="ts")
        for w in (second, hour)
    ]
    prices = Prices(
        event=150, group=250, partial=250, packed=0, handed=1e9, answer=250, kept=5, copy=60
    )
    few = optimize(workload(queries, rate=100.0, keys=200.0, prices=prices), "auto")
    assert explain.text(few, 100).startswith(STRATEGIES.strip("\n"))
    many = optimize(workload(queries, rate=1e6, keys=200.0, prices=prices), "auto")
    assert "Sharing pays: a slice has 5k events of a key on average" in explain.text(many, 100)


@every_plan
def test_every_query_is_named_or_counted(build):
    plan = build()
    told = explain.text(plan, 100)
    for tree in plan.trees:
        for node in tree.nodes:
            line = next(
                line
                for line in told.splitlines()
                if re.search(rf"─ {re.escape(str(node.window))}  ", line + "  ")
            )
            names = [words.clean(name) for name in node.queries]
            shown = [name for name in names if name in line]
            left_out = re.search(r"\+(\d+) more(?: from .*)?$", line)
            clipped = 1 if "…" in line else 0
            counted = int(left_out[1]) if left_out else 0
            assert len(shown) + clipped + counted >= len(names)
            assert names or words.FACTOR in line
    for query in plan.plain_queries:
        name = words.clean(query.name)
        assert (name if len(name) <= 40 else f"{name[:39]}…") in told


@every_plan
@pytest.mark.parametrize("width", [64, 72, 80, 100])
def test_text_fits_a_terminal(build, width):
    for line in explain.text(build(), width).splitlines():
        assert words.width(line) <= width
        assert line == line.rstrip()
        assert line.isprintable()


def test_the_terminal_says_how_wide_it_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert small().explain() == explain.text(small(), 70) != explain.text(small(), 100)
    monkeypatch.setenv("COLUMNS", "300")
    assert small().explain() == explain.text(small(), 100)


def test_reading_and_answering_are_told_apart():
    told = explain.text(small(), 100)
    assert "reading 1.0k, answering 300, Spark alone 200" in told
    assert list(words.cost_parts(small()).values()) == [1000.0, 300.0, 200.0]
    assert list(words.cost_parts(pair())) == [words.READING, words.ANSWERING]
    assert words.OPERATION in told


def test_what_was_given_is_not_said_to_be_assumed():
    query = Query(name="q", window=tumbling("1 hour"), aggregates={"m": max_("x")}, time="ts")
    for given, told in (
        ({}, "1k events/s (assumed) and 1 key (assumed)"),
        ({"rate": 1000.0}, "1k events/s and 1 key (assumed)"),
        ({"rate": 50.0, "keys": 1.0}, "50 events/s and 1 key"),
    ):
        plan = optimize(workload([query], **given))
        assert f"costs for {told}\n" in explain.text(plan, 100)
        assert f"estimated costs for {told}<" in explain.svg(plan)
    by_hand = optimize(Workload(queries=(query,), rate=7.0, keys=3.0))
    assert "costs for 7 events/s and 3 keys\n" in explain.text(by_hand, 100)


def test_strategies_of_equal_cost_are_one_line():
    cost = small().cost
    tried = {"shared": cost, "factor": cost, "unshared": 2 * cost, "weave": cost * 1.001}
    plan = replace(small(), strategy_costs=tried, chosen_strategies=("factor",))
    assert list(words.strategies(plan)) == [
        (cost, "", ["factor (chosen)", "shared", "weave"]),
        (2 * cost, "2x more", ["unshared"]),
    ]
    lines = explain.text(plan, 100).splitlines()
    assert "  1.5k ops/s           factor (chosen), shared, weave" in lines
    assert "  3.0k ops/s  2x more  unshared" in lines


def test_a_hundred_windows_take_a_line_each():
    lines = explain.text(hundred(), 100).splitlines()
    assert len(lines) < 115
    # The costs stand below each other, under their unit.
    end = next(line.index("ops/s") + 5 for line in lines if line.startswith("window "))
    assert all(re.match(r".*\d$", line[:end]) for line in lines if "─ " in line)


def test_nodes_deeper_than_the_page_say_what_they_read():
    lines = explain.text(stairs(), 100).splitlines()
    assert sum("from line above" in line for line in lines) == 25


def test_plain_queries_come_with_their_reasons():
    told = explain.text(small())
    assert "answered by Spark alone\n└─ median  percentile(temp) is not built from slices" in told
    assert "percentile(temp) is not built from slices" in explain.svg(small())


def test_a_plan_without_measures_claims_nothing():
    plan = replace(small(), unshared_cost=0.0, plain_cost=0.0)
    for told in (explain.text(plan), explain.svg(plan)):
        assert "less" not in told
        assert "plain Spark" not in told


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        (10, 120, "12x less"),
        (10, 25, "2.5x less"),
        (10, 20, "2x less"),
        (1, 5066, "5,066x less"),
        (20, 10, "2x more"),
        (100, 103, "1.03x less"),
        (10, 10.01, "the same"),
        (0, 10, ""),
        (10, 0, ""),
    ],
)
def test_ratio(ours, theirs, told):
    assert words.ratio(ours, theirs) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0"),
        (0.01, "<0.1"),
        (0.44, "0.4"),
        (7, "7.0"),
        (99.96, "100"),
        (999.4, "999"),
        (999.6, "1.0k"),
        (1234, "1.2k"),
        (12_340, "12.3k"),
        (999_960, "1.0M"),
        (3.4e6, "3.4M"),
        (5e15, "5000T"),
    ],
)
def test_cost(value, told):
    assert words.cost(value) == f"{told} ops/s"


def test_frequency_takes_the_unit_that_reads_well():
    assert words.frequency(4 / 9) == "0.44 a second"
    assert words.frequency(1 / 60) == "1 a minute"
    assert words.frequency(1 / 86_400) == "1 a day"
    assert words.frequency(2500) == "2.5k a second"


def test_slices_of_unequal_width():
    assert "added to slices of unequal length, 0.56 a second" in explain.text(pair(), 100)


def test_one_statement_of_what_sql_cannot_combine_is_refused():
    query = mt.Query(
        name="users",
        window=mt.tumbling("1 minute"),
        aggregates={"users": mt.percentile("load", 0.5)},
        time="ts",
    )
    with pytest.raises(ModelError, match="no query of the plan is answered from slices"):
        mt.plan([query]).to_sql(together=True)


def test_costs_of_a_papers_model_say_so():
    query = Query(name="q", window=tumbling("1 hour"), aggregates={"m": max_("x")}, time="ts")
    plan = optimize(workload(query, prices=PAPERS["weave_share"]), "weave")
    told = explain.text(plan, 100)
    assert "costs are those of the paper's model weave_share" in told
    assert words.OPERATION not in told
