"""Queries that come and go while a plan runs: every answer once, whole, and none lost."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from muntin.aggregates.aggregate import count, max_, sum_
from muntin.model.query import Query
from muntin.model.windows import CumulateWindow, Window
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.optimizer.plan_for_stream import plan_for_stream
from muntin.optimizer.strategies import STRATEGIES
from muntin.optimizer.transitions import pin_queries
from muntin.runtime.stream_plan.change_plan import change_plan, first_start, resume_plan
from muntin.runtime.stream_plan.stream_plan_json import stream_plan_from_json, stream_plan_to_json
from tests.support.examples import examples
from tests.support.simulated_streams import Engine, many_levels, needs_of
from tests.support.windows import hopping, tumbling

UNIT = 1000
AGGREGATES = {"n": count(), "s": sum_("x"), "m": max_("x")}


@st.composite
def any_query(draw, name):
    slide = draw(st.integers(1, 6))
    size = draw(st.one_of(st.just(slide), st.integers(slide, 18)))
    window = Window(
        size=size * UNIT, slide=slide * UNIT, offset=draw(st.integers(0, slide - 1)) * UNIT
    )
    if draw(st.integers(0, 3)) == 0:
        size = slide * draw(st.integers(2, 5))
        offset = draw(st.integers(0, size - 1)) * UNIT
        window = CumulateWindow(size=size * UNIT, slide=slide * UNIT, offset=offset)
    asked = draw(st.sets(st.sampled_from(sorted(AGGREGATES)), min_size=1))
    return Query(
        name=name,
        window=window,
        aggregates={one: AGGREGATES[one] for one in sorted(asked)},
        keys=["k"],
        time="t",
    )


def naive(query, events, *, until, since):
    """The answers of all windows of a query that end up to an instant.

    An event comes with the watermark of the batch before: windows that end by it were given out.
    """
    window, held = query.window, {}
    for (key, time, value), passed in events:
        begin = window.first_after(time - window.size)
        while begin <= time:
            # One that grows may begin later than it is called.
            is_in = window.start_of(begin) <= time
            is_open = is_in and passed < begin + window.size <= until
            if is_open and (since is None or begin >= since):
                held.setdefault((key, begin), []).append(value)
            begin += window.slide
    found = []
    for (key, begin), values in held.items():
        present = [value for value in values if value is not None]
        answers = {
            "n": len(values),
            "s": sum(present) if present else None,
            "m": max(present, default=None),
        }
        found.append((key, begin, *(answers[name] for name in query.aggregates)))
    return sorted(found, key=repr)


class Watched:
    """An engine, and what each query should have answered while it ran."""

    def __init__(self, queries, **settings):
        self.engine = Engine(queries, **settings)
        self.events, self.late = [], Counter()
        self.now = {query.name: query for query in queries}
        self.since = dict(self.engine.running.complete_from)

    def change(self, queries, strategy=None):
        for name in self.now.keys() - {query.name for query in queries}:
            self._done(name)
        self.engine.change(queries, strategy)
        fresh = {query.name: query for query in queries if query.name not in self.now}
        complete = self.engine.running.complete_from
        for name in complete.keys() - fresh.keys():
            assert complete[name] == self.since[name], "a query that stays is complete from before"
        self.since = dict(complete)
        self.now = {query.name: query for query in queries}

    def _done(self, name):
        found = sorted(self.engine.answers.pop(name, []), key=repr)
        expected = naive(
            self.now[name], self.events, until=self.engine._before, since=self.since[name]
        )
        assert found == expected, name

    def batch(self, events):
        given = self.engine._before or 0
        for name, query in self.now.items():
            window = query.window
            firsts = (window.first_after(time - window.size) + window.size for _, time, _ in events)
            self.late[name] += sum(first <= given for first in firsts)
        self.engine.batch(events)
        self.events += [(each, given) for each in events]

    def end(self):
        for name in self.now:
            self._done(name)
        assert self.engine.late == +self.late


@pytest.fixture(params=[False, True], ids=["", "many levels"])
def cells(request, monkeypatch):
    """Also with a level wherever one can be, and segments that are merged soon."""
    if request.param:
        many_levels(monkeypatch)


@settings(max_examples=examples(38), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_answers_are_whole_and_said_once_whatever_changes(cells, data):
    delay = data.draw(st.sampled_from([0, 3, 10])) * UNIT
    names = iter(f"q{number}" for number in range(99))
    queries = [data.draw(any_query(next(names))) for _ in range(data.draw(st.integers(1, 3)))]
    watched = Watched(
        queries,
        strategy=data.draw(st.sampled_from(sorted(STRATEGIES.keys() - {"exact"}))),
        slicing=data.draw(st.sampled_from([None, "panes", "pairs"])),
        delay=delay,
        retain=data.draw(st.sampled_from([0, 0, 12, 40])) * UNIT,
        buckets=data.draw(st.sampled_from([1, 3])),
        # Earlier versions started with slices for factor windows, too.
        form=data.draw(st.sampled_from([plan_for_stream, replace])),
    )
    now = 100 * UNIT
    for _ in range(data.draw(st.integers(1, 8))):
        batch = []
        latest = now
        for _ in range(data.draw(st.integers(0, 6))):
            now += data.draw(st.sampled_from([0, 1, UNIT, 3 * UNIT, 9 * UNIT]))
            late = data.draw(st.integers(0, delay // UNIT)) * UNIT
            # Mostly not behind what the watermark may be when this batch is read.
            time = max(now - late, latest - delay)
            if data.draw(st.integers(0, 5)) == 0:
                time = now - data.draw(st.integers(0, 40)) * UNIT
            key = data.draw(st.sampled_from("abc"))
            batch.append((key, time, data.draw(st.sampled_from([None, 1, 5, -7]))))
        if batch and max(time for _, time, _ in batch) < now:
            now = max(latest, *(time for _, time, _ in batch))
        watched.batch(batch)
        if data.draw(st.booleans()):
            stay = [query for query in watched.now.values() if data.draw(st.booleans())]
            come = [data.draw(any_query(next(names))) for _ in range(data.draw(st.integers(0, 2)))]
            if stay or come:
                event("changed")
                # With a strategy, queries move to the trees in which it has them.
                strategy = data.draw(st.sampled_from([None, None, "unshared", "shared", "weave"]))
                watched.change(data.draw(st.permutations([*stay, *come])), strategy)
                if watched.engine.running.leaving:
                    event("moved")
    watched.batch([])
    watched.end()


def ask(name, window, **aggregates):
    return Query(
        name=name, window=window, aggregates=aggregates or {"n": count()}, keys=["k"], time="t"
    )


def test_a_new_query_before_the_others_takes_nobodys_tree():
    one, two = ask("one", tumbling(4 * UNIT)), ask("two", tumbling(6 * UNIT))
    watched = Watched([one, two], strategy="unshared", delay=0, retain=0, buckets=1)
    watched.batch([("a", 1000 + UNIT, 1)])
    watched.batch([("a", 1000 + 2 * UNIT, 1)])
    watched.change([ask("new", tumbling(8 * UNIT)), one, two])
    watched.batch([("a", 40 * UNIT, 1)])
    watched.batch([("a", 41 * UNIT, 1)])
    watched.end()


def test_a_warm_query_answers_for_keys_that_are_silent():
    # 0    10   20   30
    # a                     the only event of its bucket; its own query is done at 10
    # [----)----)----)      the new query's window
    minute = ask("minute", tumbling(10 * UNIT))
    watched = Watched([minute], strategy="shared", delay=0, retain=40 * UNIT, buckets=3)
    watched.batch([("a", UNIT, 1), ("b", UNIT, 1)])
    watched.batch([("b", 12 * UNIT, 1)])
    watched.batch([("b", 13 * UNIT, 1)])
    long = ask("long", hopping(30 * UNIT, every=10 * UNIT))
    watched.change([minute, long])
    assert watched.since["long"] + 30 * UNIT <= 20 * UNIT
    watched.batch([("b", 33 * UNIT, 1)])
    watched.batch([("b", 43 * UNIT, 1)])
    assert {row[0] for row in watched.engine.answers["long"]} == {"a", "b"}
    watched.end()


def test_a_warm_query_answers_with_the_first_batch_after_the_change():
    # 0    10   20   25     watermark of the next batch; the last one had 1
    # [---------)           ends between them: nobody was given it yet
    minute = ask("minute", tumbling(10 * UNIT))
    watched = Watched([minute], strategy="shared", delay=0, retain=40 * UNIT, buckets=1)
    watched.batch([("a", UNIT, 1)])
    watched.batch([("a", 25 * UNIT, 1)])
    watched.change([minute, ask("long", hopping(20 * UNIT, every=10 * UNIT))])
    watched.batch([])
    assert {row[1] for row in watched.engine.answers["long"]} == {-10 * UNIT, 0}
    watched.end()


def test_a_window_that_begins_where_slices_have_just_been_dropped_is_not_complete():
    # 95   97        107     111
    # a                          its slice was dropped when the watermark came to 97
    # [----------------------)   begins as far behind as slices are kept
    short = ask("short", tumbling(2 * UNIT, offset=UNIT))
    watched = Watched([short], strategy="shared", delay=10 * UNIT, retain=0, buckets=1)
    for time in (95, 107, 116):
        watched.batch([("a", time * UNIT, 1)])
    watched.change([short, ask("long", hopping(16 * UNIT, every=4 * UNIT, offset=3 * UNIT))])
    assert watched.since["long"] > 95 * UNIT
    watched.batch([("a", 140 * UNIT, 1)])
    watched.batch([])
    watched.end()


@settings(deadline=None, max_examples=examples(38))
@given(data=st.data())
def test_queries_that_stay_stay_together(data):
    first = [data.draw(any_query(f"a{number}")) for number in range(data.draw(st.integers(1, 5)))]
    more = [data.draw(any_query(f"b{number}")) for number in range(data.draw(st.integers(0, 3)))]
    before = optimize(workload(first), data.draw(st.sampled_from(["weave", "auto", "unshared"])))
    stay = first[data.draw(st.integers(0, len(first) - 1)) :]
    wanted = optimize(workload([*more, *stay]), data.draw(st.sampled_from(["weave", "auto"])))
    found = pin_queries(wanted, before).plan
    groups = [{n for node in tree.nodes for n in node.queries} for tree in found.trees]
    for tree in before.trees:
        names = {n for node in tree.nodes for n in node.queries} & {q.name for q in stay}
        homes = [group for group in groups if group & names]
        assert len(homes) <= 1
        assert all(group & {q.name for q in first} == names for group in homes)


def test_a_checkpoint_with_slices_for_factor_windows_goes_on_without_them():
    # 0         20   30   40        60
    # [-----------------------------)          two, begins every 20
    #           [----------------
    # [-----------------------------)          three, begins every 30
    #                [-----------
    queries = [
        ask(name, hopping(60 * UNIT, every=every * UNIT), m=max_("x"))
        for name, every in (("two", 20), ("three", 30))
    ]
    settings = {"strategy": "factor", "delay": 0, "retain": 0, "buckets": 1}
    watched = Watched(queries, **settings, form=replace)
    (before,) = watched.engine.running.trees
    assert any(node.is_factor for node in before.tree.nodes)
    for time in range(0, 75, 5):
        watched.batch([("a", time * UNIT, 1)])
    watched.change(queries)
    (after,) = watched.engine.running.trees
    assert after.number == before.number
    assert after.tree.is_flat
    assert 8 * after.tree.slicing.rate <= before.tree.slicing.rate
    assert [epoch.slicing for epoch in after.epochs] == [before.tree.slicing]
    assert watched.since == {"two": None, "three": None}
    for time in range(75, 300, 5):
        watched.batch([("a", time * UNIT, 1)])
    watched.end()


def test_what_an_earlier_version_left_to_the_runtime_is_named_when_it_goes_on():
    plan = plan_for_stream(
        optimize(workload([ask("one", hopping(40 * UNIT, every=4 * UNIT))]), "shared")
    )
    running = first_start(plan, needs_of(plan), buckets=(0,), delay=0, retain=0, ansi=False)
    data = stream_plan_to_json(running)
    for tree in (data["plan"]["trees"][0], data["lanes"][0]["tree"]):
        tree["nodes"][0]["techniques"] = ["best"]
    stored = stream_plan_from_json(data)
    assert stored.trees[0].tree.nodes[0].techniques == (("recalc",),)
    found = resume_plan(stored, plan)
    assert found.trees[0].tree.nodes[0].techniques == (("two_stacks_lite",),)
    assert found == running


def test_another_type_under_the_same_name_starts_anew():
    query = ask("one", tumbling(4 * UNIT), m=max_("x"))
    plan = optimize(workload([query]), "shared")
    (need,) = needs_of(plan)
    running = first_start(plan, [need], buckets=(0,), delay=0, retain=0, ansi=False)
    floats = replace(need, numbers=dict.fromkeys(need.numbers, "float"))
    found = change_plan(running, plan, [floats], watermark=100 * UNIT, given=90 * UNIT)
    assert found.trees[0].number != running.trees[0].number
    assert found.complete_from["one"] > 100 * UNIT
