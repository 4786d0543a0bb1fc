"""User-defined windows under every strategy: beside periodic ones, and without."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.errors import PlanError
from muntin.model.data_windows import Session
from muntin.model.passes import Engine
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.strategies import STRATEGIES
from tests.support.examples import examples


def query(name, window):
    return mt.Query(name=name, window=window, aggregates={"n": mt.count()}, time="ts", keys=["k"])


@pytest.mark.parametrize("strategy", [one for one in STRATEGIES if one != "auto"])
def test_every_strategy_leaves_them_to_trees_of_their_own(strategy):
    found = [query("session", mt.session("1 minute")), query("rows", mt.count_window(10))]
    periodic = [query("minute", mt.tumbling("1 minute")), query("hour", mt.tumbling("1 hour"))]
    alone = mt.plan(found, strategy=strategy)
    assert alone.periodic_trees == ()
    both = mt.plan([*found, *periodic], strategy=strategy)
    assert both.data_trees == alone.data_trees
    assert both.periodic_trees == mt.plan(periodic, strategy=strategy).periodic_trees
    assert both.cost == pytest.approx(alone.cost + mt.plan(periodic, strategy=strategy).cost)


def test_what_is_known_of_the_data_is_in_the_costs():
    def cost(window, **facts):
        # A session query alone would be Spark's own.
        beside = [query("beside", mt.session("1 hour"))] if isinstance(window, Session) else []
        (tree,) = mt.plan([query("q", window), *beside], **facts).data_trees
        return tree.nodes[0].cost

    # Many rows a window, few answers; sessions end when events are rare.
    assert cost(mt.count_window(1000)) < cost(mt.count_window(10))
    assert cost(mt.session("1 millisecond"), rate=100) > cost(mt.session("1 minute"), rate=100)
    inside, outside = mt.tumbling("1 second"), mt.tumbling("1 hour")
    often = mt.threshold("a", inside=inside, outside=outside)
    assert cost(often) > cost(mt.threshold("a", inside=outside, outside=outside))


def test_a_session_query_alone_costs_what_sparks_own_does_however_dense_events_are():
    def costs(*windows, **facts):
        found = [query(f"q{n}", window) for n, window in enumerate(windows)]
        (tree,) = mt.plan(found, **facts).data_trees
        return tree.engine is Engine.SPARK, tree.cost

    minute, hour = mt.session("1 minute"), mt.session("1 hour")
    assert costs(minute, rate=100, keys=1) == costs(hour, rate=100, keys=1)
    assert costs(minute, rate=100, keys=1) == costs(minute, rate=100, keys=1e6)
    assert costs(minute, rate=100)[0]
    assert not costs(minute, hour, rate=100)[0]
    assert costs(minute, hour, rate=100, keys=1)[1] < costs(minute, hour, rate=100, keys=1e6)[1]


def test_periodic_windows_join_those_found_in_the_data_where_that_is_cheaper():
    found, minute = query("rows", mt.count_window(10)), query("minute", mt.tumbling("1 minute"))
    plan = mt.plan([found, minute])
    assert plan.periodic_trees == ()
    (tree,) = plan.data_trees
    assert [node.window for node in tree.nodes] == [found.window, minute.window]
    assert plan.cost < mt.plan([found, minute], strategy="shared").cost
    assert "1 minute" in plan.explain()
    # Of many windows each looks at every record, where slices would be few.
    many = [query(f"q{n}", mt.tumbling(f"{n} hours")) for n in range(1, 200)]
    apart = mt.plan([found, *many])
    assert len(apart.periodic_trees) == 1
    assert apart.cost <= mt.plan([found, *many], strategy="shared").cost


def test_periodic_windows_of_another_family_or_beside_sessions_stay_apart():
    other = mt.Query(
        name="minute", window=mt.tumbling("1 minute"), aggregates={"n": mt.count()}, time="ts"
    )
    beside = query("beside", mt.tumbling("1 minute"))
    assert len(mt.plan([query("q", mt.punctuation("a")), other]).periodic_trees) == 1
    assert len(mt.plan([query("q", mt.session("1 minute")), other, beside]).periodic_trees) == 2


def test_in_a_stream_periodic_windows_stay_on_slices():
    queries = [query("rows", mt.count_window(5)), query("minute", mt.tumbling("1 minute"))]
    plan = mt.plan(queries, rate=1000, keys=10)
    assert [len(tree.nodes) for tree in plan.data_trees] == [2]
    found = plan_for_stream(plan)
    assert [len(tree.nodes) for tree in found.periodic_trees] == [1]
    assert [tree.nodes[0].queries for tree in found.data_trees] == [("rows",)]


def _drawn(number, window, keys, where, aggregate):
    return mt.Query(
        name=f"q{number}",
        window=window,
        aggregates={"a": aggregate},
        time="ts",
        keys=list(keys),
        where=where,
    )


FIVE, HOUR = mt.tumbling("5 minutes"), mt.tumbling("1 hour")
WINDOWS = [
    mt.session("1 minute"),
    mt.session("1 hour"),
    mt.count_window(10),
    mt.count_window(10, 5),
    mt.punctuation("a"),
    mt.landmark("a", "b"),
    mt.delta("x", 10),
    mt.threshold("a", inside=FIVE, outside=HOUR),
    FIVE,
    HOUR,
    mt.tumbling("7 minutes"),
    mt.hopping("1 hour", every="5 minutes"),
    mt.cumulate("1 hour", every="10 minutes"),
]
MIXED = st.lists(
    st.tuples(
        st.sampled_from(WINDOWS),
        st.sampled_from([("k",), ("g",), ("g", "k"), ()]),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([mt.count(), mt.sum("x"), mt.count_distinct("x"), mt.median("x")]),
    ),
    min_size=2,
    max_size=6,
)


@settings(max_examples=examples(25), deadline=None)
@given(drawn=MIXED, rate=st.sampled_from([1.0, 1e3, 1e6]), keys=st.sampled_from([1.0, 1e4]))
# Three ordinary statements: windows that had moved to records came back with another strategy.
@example(
    drawn=[
        (WINDOWS[2], ("k",), None, mt.count()),
        (FIVE, ("k",), None, mt.count()),
        (FIVE, ("g",), None, mt.count()),
    ],
    rate=1e3,
    keys=1.0,
)
def test_every_plan_answers_each_query_once_and_auto_is_the_cheapest(drawn, rate, keys):
    queries = [_drawn(number, *each) for number, each in enumerate(drawn)]
    names = [each.name for each in queries]
    least = mt.plan(queries, rate=rate, keys=keys).cost
    for strategy in STRATEGIES:
        try:
            plan = mt.plan(queries, strategy=strategy, rate=rate, keys=keys)
        except PlanError:
            # The exact strategies refuse what is too large for them.
            continue
        for each in (plan, plan_for_stream(plan)):
            assert sorted(name for tree in each for name in tree.queries) == names
        # Without sharing, no pass is chosen, and the costs are of other work.
        assert strategy == "unshared" or least <= plan.cost * 1.0011
