"""The bench of Weave Share on a few queries: its shape, and what the paper claims."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks.papers.generators import TICK, draw_weave, paper_cost
from benchmarks.papers.rivals import (
    CONTENDERS,
    insert_then_weave,
    local_search,
    no_share,
    share_all,
)
from benchmarks.papers.weave import QUICK, ranges, run
from muntin.optimizer.weave_share.groups import same_edges
from muntin.optimizer.weave_share.weave_share import weave_exactly, weave_groups

FEW = replace(
    QUICK,
    queries=(20, 45),
    many=(45,),
    grown=(6, 12),
    optimum=((200, 4),),
    naive=(3, 6),
    among=30,
    planned=(60,),
)


@pytest.fixture(scope="module")
def experiment():
    return run(FEW)


def test_every_figure_of_the_paper_is_there(experiment):
    names = [figure.name for figure in experiment.figures]
    assert names == [
        *(f"weave_{number}" for number in (4, 5, 6, 7, 8, 9, 10, 11, 14)),
        "weave_edges",
        "weave_scale",
    ]


def test_weave_share_is_never_dearer_than_what_shares_blindly(experiment):
    for figure in experiment.figures[:2]:
        assert list(figure.lines) == list(CONTENDERS)
        for queries in FEW.queries:
            ours = figure.at("weave share", queries)
            for name in ("no share", "random", "shared"):
                assert ours <= figure.at(name, queries) * (1 + 1e-9)


def test_more_events_make_fewer_trees_and_bring_it_nearer_to_shared(experiment):
    normalized, trees = experiment.figures[2:4]
    low, medium, high = normalized.lines
    for queries in FEW.queries:
        ratios = [normalized.at(line, queries) for line in (low, medium, high)]
        counts = [trees.at(line, queries) for line in (low, medium, high)]
        assert ratios == sorted(ratios)
        assert counts == sorted(counts, reverse=True)
        assert ratios[-1] == pytest.approx(1)


def test_claims_stand_beside_the_papers(experiment):
    console = Console(width=200)
    with console.capture() as captured:
        console.print(*experiment.tables())
    text = captured.get()
    assert "cost / optimum, 4 queries, 200 per second" in text
    assert "1.000 on average" in text
    assert "asked: under 10 ms" in text
    found = json.loads(json.dumps(experiment.to_json()))
    assert found["figures"][0]["lines"]["shared"][0][0] == 20
    assert all(claim["found"] for claim in found["claims"])


def test_pictures_of_all_figures(experiment, tmp_path):
    pytest.importorskip("matplotlib")
    paths = experiment.draw(tmp_path)
    assert len(paths) == len(experiment.figures)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_workloads_are_those_of_table_1():
    windows = draw_weave(200, 0, overlap=10)
    assert windows == draw_weave(200, 0, overlap=10)
    assert max(window.slide for window in windows) <= 100_000 * TICK
    assert all(1 <= window.overlap <= 10 for window in windows)


def test_as_many_queries_are_planned_as_asked_for():
    assert ranges(1_000_000, quick=True).planned == (1_000, 10_000, 100_000, 1_000_000)
    assert ranges(1_000, quick=False).planned == (1_000,)


def test_rivals_by_estimated_rates_hold_every_window_and_do_not_lose_to_no_sharing():
    from random import Random

    cost, windows = paper_cost(50), draw_weave(60, 3)
    woven = cost.plan(weave_groups(same_edges(windows), cost))
    assert woven <= cost.plan(share_all(windows))
    counted = cost.plan(weave_exactly(same_edges(windows[:12]), cost))
    assert counted <= cost.plan(no_share(windows[:12]))
    for groups in (
        insert_then_weave(windows, cost),
        local_search(no_share(windows), cost, Random(1), iterations=600),
    ):
        assert sorted(w for group in groups for w in group.windows) == sorted(windows)
        assert woven <= cost.plan(groups) < cost.plan(no_share(windows))
