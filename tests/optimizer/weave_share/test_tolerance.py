"""What a plan that follows its queries costs beside one made from scratch at every step."""

from random import Random

import pytest

from benchmarks.papers.generators import draw_weave, incremental_gen, paper_cost
from muntin.optimizer.weave_share.groups import GroupCost, same_edges
from muntin.optimizer.weave_share.incremental import Reweaving
from muntin.optimizer.weave_share.weave_share import weave_groups

STEPS = 150
TOLERANCES = (0.1, 0.2, 0.5)
# Windows, how many of them are there at first, the cost, and the share of changes that add.
DIVISORS = list(dict.fromkeys(incremental_gen(Random(3), count=400, most_overlap=50)))
FIGURE_11 = draw_weave(260, 0, overlap=10)
CASES = {
    "adding": (DIVISORS, 40, GroupCost(overhead=3.0, technique="two_stacks"), 1.0),
    "both": (DIVISORS, 60, GroupCost(overhead=9.0, technique="slick_deque"), 0.55),
    "removing": (DIVISORS, 120, GroupCost(overhead=3.0, technique="panes"), 0.3),
    "figure 11": (FIGURE_11, 50, paper_cost(100.0), 1.0),
    "figure 11, both": (FIGURE_11, 100, paper_cost(100.0), 0.5),
}
# How many steps lie between two that count the edges of all trees.
COUNTED = 25


def changes(pool, start, share_added, random):
    """Windows that come (True) and go (False), one at a time."""
    present, absent = list(pool[:start]), list(pool[start:])
    for _ in range(STEPS):
        comes = bool(absent) and (len(present) < 2 or random.random() < share_added)
        source, target = (absent, present) if comes else (present, absent)
        window = source.pop(random.randrange(len(source)))
        target.append(window)
        yield window, comes


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=pytest.mark.slow) if windows is FIGURE_11 else name
        for name, (windows, *_) in CASES.items()
    ],
)
def test_the_excess_over_a_new_plan_stays_within_the_tolerance_at_every_step(case):
    pool, start, cost, share_added = CASES[case]
    plans = {each: Reweaving(pool[:start], cost, tolerance=each) for each in TOLERANCES}
    rebuilt, excess = dict.fromkeys(TOLERANCES, 0), dict.fromkeys(TOLERANCES, 0.0)
    present = dict.fromkeys(pool[:start])
    for step, (window, comes) in enumerate(changes(pool, start, share_added, Random(1))):
        if comes:
            present[window] = None
        else:
            del present[window]
        new_cost = cost.plan(weave_groups(same_edges(present), cost))
        for tolerance, plan in plans.items():
            (plan.add if comes else plan.remove)(window)
            rebuilt[tolerance] += plan.rebuild_if_due()
            assert set(plan.windows) == set(present)
            if step % COUNTED == 0:
                assert plan.plan_cost == pytest.approx(cost.plan(plan.groups), rel=0.01)
            excess[tolerance] = max(excess[tolerance], plan.plan_cost / new_cost - 1)
            assert excess[tolerance] <= tolerance
    compared = [len(plans[each].curve) - 1 for each in TOLERANCES]
    # It moves windows far less often than at every step, and looks less often the more it may cost.
    assert max(rebuilt.values()) <= STEPS // 10
    assert STEPS > compared[1] > compared[2]
