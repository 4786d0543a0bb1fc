"""The levels of a stream's state: nested, wide enough, and with the begins of every open window."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from benchmarks.harness.sets import SETS
from muntin.model.time import HOUR, MINUTE
from muntin.optimizer.edges import SLICINGS
from muntin.optimizer.plan_for_stream import levels_for, plan_for_stream
from tests.support.examples import examples
from tests.support.window_sets import windows as any_windows


def test_a_dashboard_keeps_minutes_for_an_hour_and_tens_of_minutes_for_a_day():
    plan = plan_for_stream(mt.plan(SETS["dash10"](), strategy="shared"))
    (tree,) = plan.trees
    assert [str(window) for window in tree.levels] == ["10 minutes", "2 hours"]
    assert tree.retention == (HOUR, 24 * HOUR, 24 * HOUR)
    parents = {str(node.window): node.parent and str(node.parent) for node in tree.nodes}
    assert parents["1 day every 10 minutes"] == parents["1 hour"] == "10 minutes"
    assert parents["1 hour every 1 minute"] is None
    kept = "slices for 1 hour; 10 minutes for 1 day; 2 hours for 1 day"
    assert kept in " ".join(plan.explain().split())
    assert tree.node(tree.levels[1]).is_factor
    assert not tree.node(tree.levels[0]).is_factor


@pytest.mark.parametrize("offset", ["0 hours", "5 hours", "90 seconds"])
def test_windows_that_grow_need_slices_near_the_watermark_only(offset):
    day = mt.Query(
        name="day",
        window=mt.cumulate("1 day", every="1 minute", offset=offset),
        aggregates={"n": mt.count()},
        time="ts",
    )
    (tree,) = plan_for_stream(mt.plan([day], strategy="shared")).trees
    assert len(tree.levels) == 1
    assert tree.retention == (tree.levels[0].size, 24 * HOUR)
    # Rows of a key: minutes, then cells.
    assert tree.retention[0] // MINUTE + tree.retention[1] // tree.levels[0].size < 100


def test_few_slices_need_no_level():
    for name in ("one", "tumb5", "slide3"):
        (tree,) = plan_for_stream(mt.plan(SETS[name](), strategy="shared")).trees
        assert tree.levels == ()
        assert tree.is_flat


def test_every_strategy_says_the_levels_that_run():
    for strategy in ("auto", "factor", "weave", "subsume", "triweave", "unshared"):
        plan = plan_for_stream(mt.plan(SETS["dash10"](), strategy=strategy))
        day = next(tree for tree in plan.trees if tree.longest_window == 24 * HOUR)
        kept = sum(
            keep / (level.size if level else 1e6 / day.slicing.rate)
            for keep, level in zip(day.retention, (None, *day.levels), strict=True)
        )
        assert kept < 300
        assert plan_for_stream(plan) is plan
        if any(day.node(level).is_factor for level in day.levels):
            assert "factor window" in plan.explain()


@settings(max_examples=examples(125), deadline=None)
@given(
    windows=st.lists(any_windows(most=40), min_size=1, max_size=5, unique=True),
    scale=st.sampled_from([1, 90]),
    name=st.sampled_from(["panes", "pairs"]),
)
def test_levels_are_nested_and_edges_of_slices(windows, scale, name):
    windows = [
        mt.Window(size=w.size * scale * MINUTE, slide=w.slide * MINUTE, offset=w.offset * MINUTE)
        for w in windows
    ]
    slices = SLICINGS[name](windows)
    levels = levels_for(windows, slices)
    for finer, level in zip((None, *levels), levels, strict=False):
        assert level.is_tumbling
        if finer is None:
            assert slices.cuts(level)
        else:
            assert finer.partitions(level)
            assert level.size > finer.size
