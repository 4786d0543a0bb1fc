"""User-defined windows under every strategy: beside periodic ones, and without."""

import pytest

import muntin as mt
from muntin.share.optimizer import STRATEGIES


def query(name, window):
    return mt.Query(name=name, window=window, aggregates={"n": mt.count()}, time="ts", keys=["k"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_leaves_them_to_trees_of_their_own(strategy):
    found = [query("session", mt.session("1 minute")), query("rows", mt.count_window(10))]
    periodic = [query("minute", mt.tumbling("1 minute")), query("hour", mt.tumbling("1 hour"))]
    alone = mt.plan(found, strategy=strategy)
    assert alone.trees == ()
    both = mt.plan([*found, *periodic], strategy=strategy)
    assert both.discretized == alone.discretized
    assert both.trees == mt.plan(periodic, strategy=strategy).trees
    assert both.cost == pytest.approx(alone.cost + mt.plan(periodic, strategy=strategy).cost)


def test_what_is_known_of_the_data_is_in_the_costs():
    def cost(window, **facts):
        (tree,) = mt.plan([query("q", window)], **facts).discretized
        return tree.nodes[0].cost

    # Many rows a window, few answers; sessions end when events are rare.
    assert cost(mt.count_window(1000)) < cost(mt.count_window(10))
    assert cost(mt.session(1000), rate=100) > cost(mt.session("1 minute"), rate=100)
    inside, outside = mt.tumbling("1 second"), mt.tumbling("1 hour")
    often = mt.threshold("a", inside=inside, outside=outside)
    assert cost(often) > cost(mt.threshold("a", inside=outside, outside=outside))
