import pytest

from muntin.measure import processes
from muntin.measure.processes import LONG_S, Cost, measure_in_turns
from muntin.measure.progress import Steps


@pytest.fixture
def taken(monkeypatch):
    """What ran, and how long it had been waited for an idle machine before."""
    log = []
    monkeypatch.setattr(processes, "settle", lambda: log.append("idle"))
    return log


def costing(log, name, wall_s, *cpu_s):
    """A run that costs so much, the first time and the next."""
    left = list(cpu_s)

    def run():
        log.append(name)
        return Cost(cpu_s=left.pop(0), wall_s=wall_s)

    return run


def test_turns_that_warm_up_do_not_count_and_the_cheapest_of_the_others_does(taken):
    runs = {"a": costing(taken, "a", 1, 1, 5, 4), "b": costing(taken, "b", 1, 2, 2, 9)}
    with Steps(6) as bar:
        costs = measure_in_turns(runs, bar, warm_up_turns=1, repeats=2)
    assert {name: cost.cpu_s for name, cost in costs.items()} == {"a": 4, "b": 2}
    assert taken == ["idle", "a", "idle", "b"] * 3


def test_what_takes_long_has_one_turn_and_that_counts(taken):
    runs = {"a": costing(taken, "a", 1, 1, 5), "long": costing(taken, "long", LONG_S, 99)}
    with Steps(4) as bar:
        costs = measure_in_turns(runs, bar, warm_up_turns=1, repeats=1)
    assert {name: cost.cpu_s for name, cost in costs.items()} == {"a": 5, "long": 99}
    assert taken.count("long") == 1


def test_what_took_long_before_has_no_turn(taken):
    before = {"a": Cost(cpu_s=3, wall_s=1), "long": Cost(cpu_s=98, wall_s=LONG_S)}
    runs = {"a": costing(taken, "a", 1, 5), "long": costing(taken, "long", LONG_S)}
    with Steps(2) as bar:
        costs = measure_in_turns(runs, bar, warm_up_turns=0, repeats=1, earlier=before)
    assert {name: cost.cpu_s for name, cost in costs.items()} == {"a": 5, "long": 98}
