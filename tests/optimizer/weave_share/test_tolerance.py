"""What a plan that follows its queries costs beside one made from scratch at every step."""

from random import Random

import pytest

from benchmarks.papers.generators import draw_weave, incremental_gen, paper_cost
from muntin.optimizer.weave_share.groups import GroupCost, same_edges
from muntin.optimizer.weave_share.incremental import Reweaving
from muntin.optimizer.weave_share.weave_share import weave_groups

STEPS = 150
TOLERANCES = (0.1, 0.2, 0.5)
# Without a tolerance nothing is ever rebuilt.
NEVER = float("inf")


def divisors(seed, most_overlap):
    windows = incremental_gen(Random(seed), count=400, most_overlap=most_overlap, longest_slide=720)
    return list(dict.fromkeys(windows))


# Windows, how many of them are there at first, the cost, and the share of changes that add.
FIGURE_11 = draw_weave(260, 0, overlap=10)
CASES = {
    "adding": (divisors(12, 100), 30, GroupCost(overhead=3.0, technique="two_stacks"), 1.0),
    "both": (divisors(13, 5), 80, GroupCost(overhead=10.0, technique="panes"), 0.5),
    "removing": (divisors(11, 20), 110, GroupCost(overhead=3.0, technique="slick_deque"), 0.3),
    "figure 11": (FIGURE_11, 50, paper_cost(100.0), 1.0),
    "figure 11, both": (FIGURE_11, 100, paper_cost(100.0), 0.5),
}


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
    [pytest.param(name, marks=pytest.mark.slow) if name != "adding" else name for name in CASES],
)
def test_the_excess_over_a_new_plan_stays_within_the_tolerance_at_every_step(case):
    pool, start, cost, share_added = CASES[case]
    plans = {each: Reweaving(pool[:start], cost, tolerance=each) for each in (*TOLERANCES, NEVER)}
    rebuilt, excess = dict.fromkeys(plans, 0), dict.fromkeys(plans, 0.0)
    present = dict.fromkeys(pool[:start])
    for window, comes in changes(pool, start, share_added, Random(1)):
        if comes:
            present[window] = None
        else:
            del present[window]
        new_cost = cost.plan(weave_groups(same_edges(present), cost))
        for tolerance, plan in plans.items():
            (plan.add if comes else plan.remove)(window)
            rebuilt[tolerance] += plan.rebuild_if_due()
            assert set(plan.windows) == set(present)
            # The edges of all trees are counted, while the plan estimates those of large trees.
            excess[tolerance] = max(excess[tolerance], cost.plan(plan.groups) / new_cost - 1)
            assert excess[tolerance] <= tolerance
    compared = [len(plans[each].curve) - 1 for each in TOLERANCES]
    # It moves windows far less often than at every step, and looks less often the more it may cost.
    assert max(rebuilt.values()) <= STEPS // 10
    assert STEPS > compared[1] > compared[2]
    assert rebuilt[NEVER] == 0
    if share_added == 1.0:
        assert excess[NEVER] > 0.2
