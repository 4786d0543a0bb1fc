import pytest

from muntin.aggregates.aggregate import avg, max_
from muntin.errors import ModelError
from muntin.model.data_windows import session
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import RECALC, DataNode, DataTree, Node, PeriodicTree
from muntin.model.windows import Edges, Slicing, Window
from muntin.model.workload import Workload
from tests.support.windows import hopping, tumbling

MAX, AVG = max_("t"), avg("t")
SLICING = Slicing(edges=(Edges(period=2),), rate=0.5)


def query(name, window, *aggregates):
    return Query(
        name=name,
        window=window,
        aggregates={f"a{i}": a for i, a in enumerate(aggregates)},
        time="ts",
    )


FAMILY = query("q", tumbling(4), MAX).grouping


def tree(*nodes):
    return PeriodicTree(grouping=FAMILY, slicing=SLICING, nodes=nodes, cut_cost=10)


def node(window, *aggregates, parent=None, queries=(), cost=0.0):
    return Node(window=window, aggregates=aggregates, parent=parent, queries=queries, cost=cost)


def test_edges_repeat():
    assert Edges(period=6, phase=-2) == Edges(period=6, phase=4)
    assert Edges(period=3, phase=1).includes(Edges(period=6, phase=4))
    assert not Edges(period=6, phase=4).includes(Edges(period=3, phase=1))
    with pytest.raises(ModelError, match="above zero"):
        Edges(period=0)


def test_a_slicing_cuts_windows_at_both_ends():
    # 0    5    10
    # [--------)          10 every 6: begins at 0, 6, ...; ends at 10, 16, ...
    both = Slicing(edges=(Edges(period=6), Edges(period=6, phase=4)), rate=1 / 3)
    assert both.cuts(Window(size=10, slide=6))
    assert not Slicing(edges=(Edges(period=6),), rate=1 / 6).cuts(Window(size=10, slide=6))
    assert both.width is None
    assert SLICING.width == 2
    with pytest.raises(ModelError, match="at least one edge"):
        Slicing(edges=(), rate=1)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node(tumbling(4), MAX), node(tumbling(4), MAX)], "stands twice"),
        ([node(tumbling(3), MAX)], "do not cut at every edge"),
        ([node(tumbling(8), MAX, parent=tumbling(4))], "does not stand before"),
        ([node(tumbling(4), MAX), node(tumbling(6), MAX, parent=tumbling(4))], "cannot be built"),
        ([node(tumbling(4), MAX), node(tumbling(8), AVG, parent=tumbling(4))], "lacks avg"),
        (
            [
                node(hopping(8, every=4), AVG),
                node(hopping(16, every=4), AVG, parent=hopping(8, every=4)),
            ],
            "overlap, and would count twice",
        ),
    ],
)
def test_a_tree_that_exists_can_run(nodes, message):
    with pytest.raises(ModelError, match=message):
        tree(*nodes)


def test_overlap_does_no_harm_to_a_maximum():
    narrow, wide = hopping(8, every=4), hopping(16, every=4)
    assert (
        tree(node(narrow, MAX), node(wide, MAX, parent=narrow)).children(narrow)[0].window == wide
    )


def test_costs_add_up_and_a_node_has_a_technique_per_component():
    grown = tree(node(tumbling(4), MAX, AVG, cost=3), node(tumbling(8), MAX, cost=4))
    assert grown.cost == 17
    assert grown.node(tumbling(4)).techniques == ((RECALC,), (RECALC, RECALC))
    with pytest.raises(ModelError, match="one technique for each component"):
        Node(window=tumbling(4), aggregates=(MAX,), techniques=(("a", "b"),))


def test_the_part_that_some_queries_need():
    narrow = query("narrow", tumbling(4), MAX)
    wide = query("wide", tumbling(8), AVG)
    far = query("far", tumbling(16), MAX)
    grown = tree(
        node(tumbling(2), MAX, AVG),
        node(tumbling(4), MAX, parent=tumbling(2), queries=("narrow",)),
        node(tumbling(8), AVG, parent=tumbling(2), queries=("wide",)),
        node(tumbling(16), MAX, parent=tumbling(4), queries=("far",)),
    )
    part = grown.restrict_to([wide])
    assert [(one.window, one.aggregates) for one in part.nodes] == [
        (tumbling(2), (AVG,)),
        (tumbling(8), (AVG,)),
    ]
    assert part.nodes[0].is_factor
    part = grown.restrict_to([far])
    assert [one.window for one in part.nodes] == [tumbling(2), tumbling(4), tumbling(16)]
    assert part.nodes[1].queries == ()
    assert grown.restrict_to([narrow, wide, far]) == grown


def test_a_plan_answers_every_query_once():
    asked = query("q", tumbling(4), MAX)
    parts = {"strategy": "s", "workload": Workload(queries=(asked,), rate=1.0)}
    plan = Plan(trees=(tree(node(tumbling(4), MAX, queries=("q",), cost=2)),), **parts)
    assert plan.cost == 12
    assert plan.find_node("q")[1].window == tumbling(4)
    assert [grown.cost for grown in plan] == [12]
    with pytest.raises(ModelError, match="did you mean 'q'"):
        plan.query("qq")
    with pytest.raises(ModelError, match="the plan answers"):
        Plan(trees=(tree(node(tumbling(4), MAX)),), **parts)


def test_trees_of_both_kinds_answer_the_same_questions():
    near, visits = query("near", tumbling(4), MAX), query("visits", session("1 minute"), AVG)
    records = DataTree(
        grouping=FAMILY,
        nodes=(DataNode(window=visits.window, aggregates=(AVG,), queries=("visits",), cost=5),),
        cut_cost=3,
    )
    plan = Plan(
        strategy="s",
        trees=(tree(node(tumbling(4), MAX, queries=("near",), cost=2)), records),
        workload=Workload(queries=(near, visits), rate=1.0),
    )
    assert [one.queries for one in plan.trees] == [("near",), ("visits",)]
    assert [one.cost for one in plan.trees] == [12, 8]
    assert plan.cost == 20
    assert [one.aggregates for one in plan.trees] == [(MAX,), (AVG,)]
    assert [one.node_index(*one.queries) for one in plan.trees] == [0, 0]
    assert plan.queries_of(records) == {"visits": visits}
    with pytest.raises(ModelError, match="no node of the tree answers 'near'"):
        records.node_index("near")


def test_a_plan_shows_itself():
    asked = query("q", tumbling(4), MAX)
    plan = Plan(
        trees=(tree(node(tumbling(4), MAX, queries=("q",), cost=2)),),
        strategy="s",
        workload=Workload(queries=(asked,), rate=1.0),
    )
    assert "q" in plan.explain()
    assert str(plan) == plan.explain()
    assert plan.to_svg() == plan._repr_html_()
    assert plan.to_svg().startswith("<svg")
