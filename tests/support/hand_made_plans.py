"""Plans built by hand, so that no cost model moves them, and a mark for a test of all of them."""

import pytest

from muntin.aggregates.aggregate import avg, max_, min_
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import Edges, Slicing, Window, hopping, tumbling
from muntin.model.workload import Workload
from muntin.sql_text import SqlText

MINUTE = tumbling("1 minute")
TEN = tumbling("10 minutes")
DAY = hopping("1 day", every="10 minutes")
LOW, HIGH = min_("temp"), max_("temp")


def tree_of(*nodes, edges=None, **grouping):
    edges = edges or (Edges(period=60_000_000),)
    grouping = {"keys": ["device"], "relation": "readings"} | grouping
    like = Query(name="like", window=MINUTE, aggregates={"x": LOW}, time="ts", **grouping)
    slicing = Slicing(edges=edges, rate=sum(1e6 / one.period for one in edges))
    return PeriodicTree(grouping=like.grouping, slicing=slicing, nodes=nodes, cut_cost=1000.0)


def plan_of(
    *trees,
    plain=(),
    unshared_cost=13_000.0,
    plain_cost=1_300_000.0,
    cost_of_plain=0.0,
    strategy="factor",
):
    queries = [
        Query(name=name, window=node.window, aggregates={"x": node.aggregates[0]}, time="ts")
        for tree in trees
        for node in tree.nodes
        for name in node.queries
    ]
    plain = [
        PlainQuery(name=name, statement=SqlText(("SELECT 1",)), reason=reason)
        for name, reason in plain
    ]
    return Plan(
        strategy=strategy,
        trees=trees,
        workload=Workload(queries=(*queries, *plain), rate=1000, keys=100),
        unshared_cost=unshared_cost,
        plain_cost=plain_cost,
        cost_of_plain=cost_of_plain,
    )


def small():
    return plan_of(
        tree_of(
            Node(window=MINUTE, aggregates=(LOW, HIGH), queries=("fast", "quick"), cost=12.34),
            Node(window=TEN, aggregates=(LOW, HIGH), parent=MINUTE, cost=150),
            Node(
                window=DAY,
                aggregates=(LOW, HIGH),
                parent=TEN,
                queries=("day",),
                techniques=(("two_stacks",), ("two_stacks",)),
                cost=67.66,
            ),
            Node(window=tumbling("5 minutes"), aggregates=(LOW,), queries=("five",), cost=70),
            where="temp > 0",
        ),
        plain=[("median", "percentile(temp) is not built from slices")],
        cost_of_plain=200.0,
    )


def pair():
    edges = tuple(
        Edges(period=period * 1_000_000, phase=phase * 1_000_000)
        for period, phase in ((6, 0), (6, 4), (9, 0), (9, 3))
    )
    return plan_of(
        tree_of(
            Node(
                window=hopping("10 seconds", every="6 seconds"), aggregates=(LOW,), queries=("b",)
            ),
            Node(
                window=hopping("12 seconds", every="9 seconds"), aggregates=(LOW,), queries=("a",)
            ),
            edges=edges,
        )
    )


def hundred():
    return plan_of(
        tree_of(
            *(
                Node(
                    window=hopping(f"{minutes} minutes", every="1 minute"),
                    aggregates=(LOW, avg("humidity")),
                    queries=(f"panel_{minutes}", f"copy of panel_{minutes}"),
                    cost=minutes,
                )
                for minutes in range(1, 101)
            )
        )
    )


def stairs(steps=30):
    nodes, above = [], None
    for step in range(steps):
        window = Window(size=60_000_000 << step, slide=60_000_000 << step)
        nodes.append(Node(window=window, aggregates=(LOW,), parent=above, queries=(f"s{step}",)))
        above = window
    return plan_of(tree_of(*nodes))


def groupings():
    return plan_of(
        tree_of(Node(window=MINUTE, aggregates=(LOW,), queries=("a",))),
        tree_of(Node(window=DAY, aggregates=(HIGH,), queries=("b",)), keys=[], relation=None),
        tree_of(edges=(Edges(period=1),)),
    )


def nasty():
    """Names and reasons that break out of XML, lines and columns."""
    return plan_of(
        tree_of(
            Node(window=MINUTE, aggregates=(min_("a < b AND c = '\"&'"),), queries=('<&">',)),
            Node(
                window=TEN, aggregates=(LOW,), queries=("n" * 300, "two\nlines", "bell\a", "日本")
            ),
            Node(
                window=DAY,
                aggregates=(max_("温度"),),
                queries=("一日の最高気温と最低気温の差" * 4,),
            ),
            where="x < 1 AND y = '</title>'",
            relation="a&b",
        ),
        plain=[("]]>", "<b>&amp;\x1b[31m " + "word " * 200), ("long" * 60, "")],
        strategy="<auto>",
    )


def only_plain():
    return plan_of(plain=[("median", "no slices")], unshared_cost=0, plain_cost=0)


PLANS = [small, pair, hundred, stairs, groupings, nasty, only_plain]
every_plan = pytest.mark.parametrize("build", PLANS, ids=lambda build: build.__name__)
