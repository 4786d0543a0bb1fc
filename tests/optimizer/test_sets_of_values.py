"""What sets of values cost: by the number of their values, where that is known."""

from dataclasses import replace

import pytest

import muntin as mt
from muntin.model.workload import workload
from muntin.optimizer import costs
from muntin.optimizer.edges import slicing
from muntin.optimizer.optimize import optimize

WINDOWS = (mt.tumbling("1 minute"), mt.hopping("1 hour", every="1 minute"))
USERS = mt.count_distinct("user")
(VALUES,) = USERS.sets_of_values


def asked(aggregate):
    return [
        mt.Query(name=f"q{n}", window=each, aggregates={"n": aggregate}, keys=["device"], time="ts")
        for n, each in enumerate(WINDOWS)
    ]


def with_values(pairs):
    """A workload of 50 events a second and 100 devices, with so many pairs of device and user."""
    live = {frozenset(["device"]): 100.0}
    live |= {} if pairs is None else {frozenset(["device", "user"]): pairs}
    return replace(workload(asked(USERS), rate=50, keys=100), live_keys=live)


def test_a_slice_has_as_many_entries_as_values():
    cut = slicing(WINDOWS, with_values(None))
    entries = {
        pairs: costs.values_per_second(cut, VALUES, with_values(pairs))
        for pairs in (100.0, 1_000.0, 1e6, None)
    }
    # A minute of a device has thirty events. With one user each, that is one entry a minute.
    assert entries[100.0] == pytest.approx(100 / 60, rel=1e-6)
    assert entries[100.0] < entries[1_000.0] < entries[1e6] < entries[None] == 50
    assert entries[1e6] == pytest.approx(50, rel=0.01)
    hour = costs.values_per_second(WINDOWS[1], VALUES, with_values(1_000.0))
    assert hour == pytest.approx(1_000 / 60, rel=0.01)


def test_few_values_make_a_plan_cheaper_and_explain_says_how_many():
    few, many, unknown = (optimize(with_values(pairs), "auto") for pairs in (200.0, 2_000.0, None))
    assert few.cost < many.cost < unknown.cost
    assert "Slices keep sets of user, with 2.0 values of a key on average." in few.explain()
    assert "each event is taken for a value of its own" in unknown.explain()
    assert "sets of" not in optimize(workload(asked(mt.max("temp"))), "auto").explain()


def test_the_values_of_other_keys_are_not_those_of_a_grouping():
    known = with_values(500.0)
    assert known.pairs_of("user") == known.pairs_of("user", ["device"]) == 500
    assert known.pairs_of("user", ["site"]) is None
    filtered = mt.count_distinct("user", where="ok")
    assert with_values(500.0).pairs_of(filtered.components[0].value_in_set) is None


def test_plain_spark_pays_for_each_value_in_each_window():
    plain = {
        aggregate.function: optimize(workload(asked(aggregate), rate=50, keys=100), "auto")
        for aggregate in (USERS, mt.max("temp"))
    }
    distinct, top = plain["count_distinct"], plain["max"]
    # A minute, and an hour every minute: each event is in 61 windows.
    more = distinct.workload.prices.counted * 50 * 61
    assert distinct.plain_cost - top.plain_cost == pytest.approx(more)
    spent = [
        sum(costs.alone_cost(WINDOWS[0], [aggregate], with_values(None)))
        for aggregate in (USERS, mt.max("temp"))
    ]
    assert spent[0] - spent[1] == pytest.approx(distinct.workload.prices.counted * 50)
