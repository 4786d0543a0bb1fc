"""The bench of subsumption: groups, state, cost, and time in this process."""

from benchmarks.papers.subsume import (
    CLASSES,
    TIMED,
    compare_costs,
    draw_class,
    groups_and_state,
    time_strategies,
)


def test_windows_of_a_class_slide_and_do_not_tumble():
    for kind, longest in CLASSES.items():
        windows = draw_class(kind, 200)
        assert max(window.slide for window in windows) == longest * 1_000_000
        assert all(window.slide < window.size <= 60_000_000 for window in windows)


def test_few_groups_hold_orders_of_magnitude_less():
    groups, held = groups_and_state((1_000, 10_000)).figures
    for line in groups.lines.values():
        assert max(count for _, count in line) < 50
        # With every window there, each slides with the shortest slide of its size.
        assert dict(line)[10_000] < dict(line)[1_000]
    assert held.at("each alone", 10_000) / held.at("subsumed", 10_000) > 1_000


def test_sharing_costs_less_than_none():
    (figure,) = compare_costs(300).figures
    for longest in CLASSES.values():
        alone = figure.at("unshared", longest)
        assert all(figure.at(name, longest) < alone for name in figure.lines if name != "unshared")


def test_all_ways_to_share_give_the_same_answers():
    experiment = time_strategies(["abrupt"], count=30, rates=(5, 50), seconds=150)
    (figure,) = experiment.figures
    assert set(figure.lines) == {f"abrupt, {way}" for way in TIMED}
    assert all(spent > 0 for line in figure.lines.values() for _, spent in line)
    assert experiment.claims[-1].found == "equal"
