from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.generators import random_gen
from muntin.aggregates import aggregate as ag
from muntin.errors import PlanError
from muntin.model.time import SECOND
from muntin.model.windows import Window
from muntin.optimizer.optimize import optimize
from muntin.optimizer.subsumption import embed, revoke, subsumable, subsume_windows
from tests.support import window_sets as my


def w(size, slide):
    return Window(size=size, slide=slide)


def groups_of(groups):
    return [group.windows for group in groups]


def test_definition_1():
    assert subsumable(w(8, 2), w(12, 4))
    assert not subsumable(w(8, 3), w(12, 4))
    assert not subsumable(w(12, 2), w(8, 4))
    assert not subsumable(w(8, 2), Window(size=12, slide=4, offset=1))


def test_figure_6_one_window_rides_on_another_and_encloses_a_third():
    # W1 and W3 slide every two units, W2 every four with the range of W3.
    w1, w2, w3 = w(4, 2), w(8, 4), w(8, 2)
    (group,) = subsume_windows([w1, w2, w3])
    assert group.seed == w1
    assert group.enclosing_windows == (w3,)
    assert group.quotients == {w2: 2}


def test_a_seed_beside_a_wider_slide():
    # ⟨32, 4⟩ cannot enclose ⟨24, 8⟩, the top of the only group with a slide that divides four.
    seed, top, late = w(12, 4), w(24, 8), w(32, 4)
    groups = subsume_windows([seed, top, late])
    assert groups_of(groups) == [(seed, top), (late,)]


def test_figure_7_window_between_two_others():
    p, y, k = w(18, 3), w(27, 3), w(21, 3)
    assert groups_of(embed(subsume_windows([p, y]), k)) == [(p, k, y)]


def test_a_suspended_seed_is_replaced_by_what_rode_on_it():
    d, u, v = w(10, 2), w(10, 4), w(24, 8)
    (group,) = subsume_windows([d, u, v])
    assert group.seed == d
    assert group.quotients == {u: 2}
    (after,) = revoke([group], d)
    assert after.seed == u
    assert after.seed.slide == 4
    assert after.windows == (u, v)


def test_orphans_find_another_group():
    # Without their stair's shortest slide, 4 and 6 cannot ride on one another.
    d, four, six = w(12, 2), w(12, 4), w(12, 6)
    (group,) = subsume_windows([d, four, six])
    assert groups_of(revoke([group], d)) == [(four,), (six,)]


def test_revoking_a_piggybacked_or_an_enclosing_window_leaves_the_rest():
    d, u, v = w(10, 2), w(10, 4), w(24, 8)
    groups = subsume_windows([d, u, v])
    assert groups_of(revoke(groups, u)) == [(d, v)]
    assert groups_of(revoke(groups, v)) == [(d, u)]
    with pytest.raises(PlanError, match="no window"):
        revoke(groups, w(11, 11))


@given(st.lists(my.windows(), min_size=1, max_size=10, unique=True))
def test_the_sweep_nests_everything_once(windows):
    groups = subsume_windows(windows)
    assert sorted(x for group in groups for x in group.windows) == sorted(windows)
    assert all(group.is_nested for group in groups)


@given(
    st.lists(my.windows(most=12), min_size=1, max_size=10, unique=True),
    st.randoms(use_true_random=False),
)
def test_embedding_and_revoking_keep_groups_nested(windows, random):
    groups, present = [], set()
    for one in [*windows, *random.choices(windows, k=len(windows))]:
        groups = revoke(groups, one) if one in present else embed(groups, one)
        present ^= {one}
        assert sorted(x for group in groups for x in group.windows) == sorted(present)
        assert all(group.is_nested for group in groups)


def test_the_tree_is_a_stairway():
    sizes = [(60, 10), (120, 10), (120, 20), (240, 20)]
    windows = [Window(size=size * SECOND, slide=slide * SECOND) for size, slide in sizes]
    (tree,) = optimize(my.workload(windows, ag.max_("x")), "subsume").trees
    assert [node.parent for node in tree.nodes] == [None, windows[0], windows[1], windows[1]]
    # Sums would count overlaps twice, so all but the piggybacked window read the slices.
    (tree,) = optimize(my.workload(windows, ag.sum_("x")), "subsume").trees
    assert [node.parent for node in tree.nodes] == [None, None, windows[1], None]


@given(my.workloads())
def test_plans_are_valid(workload):
    assert optimize(workload, "subsume").strategy == "subsume"


def test_generated_tumbling_windows():
    windows = random_gen(Random(1), count=20, tumbling=True)
    assert len(subsume_windows(windows)) < 20
