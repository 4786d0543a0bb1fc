"""The window as an object, compiled and in Python, against a list."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from muntin.aggregates import monoids as mo
from muntin.errors import PlanError, RunError
from muntin.techniques.aggregator import Aggregator
from muntin.techniques.table import TECHNIQUES
from tests.support.examples import examples
from tests.support.monoids import PLAIN, TEXT

STREAMING = [it for it in TECHNIQUES.values() if it.name != "recalc"]


def monoid_for(technique):
    return mo.MAX if technique.allows(mo.MAX) else mo.ADD


# Drawing takes far longer than answering: all techniques answer for what is drawn once.
@pytest.mark.parametrize("case", PLAIN, ids=str)
@settings(max_examples=examples(38), deadline=None)
@given(data=st.data())
def test_inserts_evictions_and_queries_in_any_order(case, data):
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    actions = data.draw(st.lists(st.sampled_from("iiiieq"), max_size=40))
    partials = [data.draw(case.partials) for action in actions if action == "i"]
    asked = data.draw(st.lists(st.integers(1, 9), min_size=40, max_size=40))
    for technique in STREAMING:
        if technique.allows(case.monoid):
            note(technique.name)
            of_one = sizes if technique.has_many_sizes else sizes[:1]
            obeys(technique, case.monoid, of_one, actions, iter(partials), iter(asked))


def obeys(technique, monoid, sizes, actions, partials, asked):
    """A window that is told to insert, evict and query has what a list has."""
    window = Aggregator(monoid, sizes, technique=technique.name, dtype=object)
    held = []
    for action in actions:
        if action == "i":
            partial = next(partials)
            window.insert(partial)
            held = [*held, partial][-max(sizes) :]
        elif action == "e" and held:
            window.evict()
            held = held[1:]
        elif action == "q" and held:
            size = (next(asked) - 1) % len(held) + 1 if technique.has_many_sizes else len(held)
            expected = functools.reduce(monoid.combine, held[-size:])
            assert repr(window.query(size)) == repr(expected)
        assert len(window) == len(held)


@pytest.mark.parametrize("technique", STREAMING, ids=lambda it: it.name)
def test_batches_compiled_with_a_pickled_state_in_between(technique):
    monoid = monoid_for(technique)
    sizes = [1, 3, 7, 20, 64, 100] if technique.has_many_sizes else [100]
    values = np.random.default_rng(3).integers(0, 99, 500).astype(float)
    before = Aggregator(monoid, sizes, technique=technique.name)
    first = before.insert_many(values[:211])
    state = pickle.loads(pickle.dumps(before.save()))
    # What happens to the one that was saved does not reach what it saved.
    before.insert_many(values[:50])
    after = Aggregator(monoid, sizes, technique=technique.name)
    after.restore(state)
    found = np.concatenate([first, after.insert_many(values[211:])])
    for row in range(500):
        for column, size in enumerate(sizes):
            expected = functools.reduce(monoid.combine, values[max(0, row + 1 - size) : row + 1])
            assert found[row, column] == expected
    plain = Aggregator(monoid, sizes, technique=technique.name, dtype=object)
    assert plain.insert_many(values.tolist()) == found.tolist()


def test_one_partial_at_a_time_compiled():
    window = Aggregator(mo.MAX, [3], technique="daba_lite")
    for x in (5.0, 4, 2, 3):
        window.insert(x)
    assert window.query() == 4.0
    window.evict()
    assert window.query(2) == 3.0


def test_a_wide_monoid_takes_and_gives_columns():
    window = Aggregator(mo.ADD_WIDE, [2], dtype=np.int64)
    low, turns = window.insert_many(([2**63 - 1, 1, 1], [0, 0, 0]))
    assert low.tolist() == [[2**63 - 1], [-(2**63)], [2]]
    assert turns.tolist() == [[0], [1], [0]]


def test_an_aggregator_of_many_windows_refuses_a_technique_of_one():
    with pytest.raises(PlanError, match="two_stacks answers windows of one size only"):
        Aggregator(mo.MAX, [2, 3], technique="two_stacks")


def test_recalculation_has_no_state():
    with pytest.raises(PlanError, match="recalc keeps no state between calls; panes does"):
        Aggregator(mo.MAX, [2], technique="recalc")


@pytest.mark.parametrize("sizes", [[], [0], [-3, 5]])
def test_a_window_holds_something(sizes):
    with pytest.raises(PlanError, match="at least one partial"):
        Aggregator(mo.MAX, sizes)


def test_what_cannot_be_asked():
    window = Aggregator(TEXT, [3], dtype=object)
    with pytest.raises(RunError, match="nothing is left to evict"):
        window.evict()
    with pytest.raises(RunError, match="latest 0 of 0 partials"):
        window.query()
    window.insert("a")
    window.insert("b")
    with pytest.raises(RunError, match="latest 3 of 2 partials"):
        window.query(3)
    with pytest.raises(RunError, match="two_stacks_lite answers only for all 2"):
        window.query(1)


@pytest.mark.parametrize(
    ("technique", "monoid", "sizes", "message"),
    [
        ("flat_fit", mo.MAX, [3], "technique 'panes', and this window 'flat_fit'"),
        ("panes", mo.MIN, [3], "monoid 'max', and this window 'min'"),
        ("panes", mo.MAX, [4], r"sizes \(3,\), and this window \(4,\)"),
    ],
)
def test_a_state_of_another_structure_is_refused(technique, monoid, sizes, message):
    state = Aggregator(mo.MAX, [3], technique="panes", dtype=object).save()
    with pytest.raises(RunError, match=message):
        Aggregator(monoid, sizes, technique=technique, dtype=object).restore(state)
