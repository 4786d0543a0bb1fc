"""The bench of factor windows' plans: the paper's example 7, and what must hold of any set."""

import pytest

from benchmarks.papers.factor_plans import plan_set, run
from benchmarks.papers.factor_settings import SETTINGS
from muntin.model.windows import Window


def test_example_7_of_the_paper():
    windows = [Window(size=size, slide=size) for size in (20, 30, 40)]
    found = plan_set(windows, tumbling=True, solve=True)
    # 120 events for each window; 40 reads 20; all of them read a factor window of 10.
    assert found.coverage == pytest.approx(360 / 246)
    assert found.factor == pytest.approx(360 / 150)
    assert (found.added, found.by_optimum) == (1, pytest.approx(1))


def test_factor_windows_never_cost_more_and_the_optimum_never_more_than_these():
    for name in ("R-10-tumbling", "R-10-hopping", "S-10-tumbling", "S-10-hopping"):
        setting = SETTINGS[name]
        for number in range(3):
            found = plan_set(setting.windows(number, unit=1), setting.tumbling, solve=True)
            assert 1 <= found.coverage <= found.factor * (1 + 1e-9), name
            assert found.by_optimum >= 1 - 1e-9, name
            assert found.added >= 0
            assert found.spent_ms > 0


def test_each_setting_stands_beside_the_papers_boosts():
    experiment = run(sets=2, settings=["S-5-tumbling", "S-20-tumbling"], solved=[20])
    boosts, added, spent = experiment.figures
    assert list(boosts.lines) == [f"S tumbling, {side}" for side in ("without", "with")]
    assert added.at("S tumbling", 20) == 1
    assert spent.at("S tumbling", 5) > 0
    small, large, optimum = experiment.claims
    assert small.paper == "1.63 1.67, 4.28 4.81 (throughput, table I)"
    assert large.found.endswith("; 1.0 factor windows")
    assert optimum.found == "1.000 on average, 1.000 at most, 2 of 2 sets optimal"
