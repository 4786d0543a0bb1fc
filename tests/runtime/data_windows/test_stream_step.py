"""User-defined windows step by step: all that have closed equal the naive answer, each once."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import aggregate, count_window, custom, landmark, threshold
from muntin.aggregates.aggregate import count, sum_
from muntin.errors import RunError
from muntin.model.windows import Window
from muntin.runtime.data_windows.stream_step import StreamSteps
from muntin.runtime.storage.layout import slots_of
from muntin.runtime.storage.user_numbers import intern_monoid
from tests.support.data_trees import (
    AGGREGATES,
    KINDS,
    LAST_THREE,
    OwnAggregates,
    assert_same_rows,
    event,
    events_of_a_key,
    expected,
    in_order,
    layout_of,
    table_of,
    tree_of,
)
from tests.support.examples import examples
from tests.support.record_windows import Event, is_closed, tied, windows
from tests.support.windows import session


def steps(tree, layout, keys, marks, rng):
    """Answers of all steps: records between two watermarks, in any order; the state as bytes."""
    stepper, state, due = StreamSteps(tree, layout), None, None
    rows = {number: [] for number in range(len(tree.nodes))}
    table, before = table_of(keys), None
    for until in marks:
        times = table.column("time").to_pylist()
        new = [n for n, t in enumerate(times) if t < until and (before is None or t >= before)]
        rng.shuffle(new)
        before = until
        if not new and (due is None or due > until):
            continue
        batch = table.take(pa.array(new, pa.int64())).combine_chunks()
        records = batch.to_batches()[0] if new else None
        found = stepper.step(state, records, until)
        state, due = found.state, found.due
        assert due is None or due > until
        for answers in found.answers:
            for row in answers.to_pylist():
                node = tree.nodes[row["node"]]
                values = [row[place[0]] for place in slots_of(node, layout.layout)]
                rows[row["node"]].append((row["k"], row["begin"], row["end"], *values))
    return rows, state


watermarks = st.lists(st.integers(0, 25), min_size=1, max_size=12)


def up(gaps):
    found, now = [], 0
    for gap in gaps:
        now += gap
        found.append(now)
    return found


@given(
    keys=st.lists(events_of_a_key, min_size=1, max_size=4),
    chosen=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5, unique=True),
    gaps=watermarks,
    seed=st.integers(0, 9),
)
@settings(max_examples=examples(38))
def test_windows_together_equal_the_naive_answer(keys, chosen, gaps, seed):
    check([*(KINDS[name] for name in chosen), LAST_THREE], keys, gaps, seed)


@pytest.mark.parametrize("name", [*KINDS, "last three"])
@given(
    keys=st.lists(events_of_a_key, min_size=1, max_size=3),
    gaps=watermarks,
    seed=st.integers(0, 9),
)
@settings(max_examples=examples(16))
def test_a_window_alone_equals_the_naive_answer(name, keys, gaps, seed):
    check([KINDS.get(name, LAST_THREE)], keys, gaps, seed)


def check(kinds, keys, gaps, seed):
    keys = [ordered for one in keys if (ordered := tied(in_order(one)))]
    if not keys:
        return
    tree = tree_of(kinds, AGGREGATES)
    layout = layout_of(tree)
    marks = up(gaps)
    found, _ = steps(tree, layout, keys, marks, random.Random(seed))
    for number, kind in enumerate(kinds):
        wanted = [row for row in expected(kind, keys) if is_closed(kind, row[2], marks[-1])]
        assert_same_rows(found[number], wanted)


def test_without_keys_all_records_are_one_stream():
    tree = tree_of([session(3), count_window(2)], {"n": count()})
    layout = layout_of(tree)
    layout = replace(layout, layout=replace(layout.layout, key_columns=()))
    table = table_of([[event(t) for t in (0, 2, 9, 10)]]).drop_columns(["k"])
    stepper, state, found = StreamSteps(tree, layout), None, []
    for low, high, until in ((0, 2, 3), (2, 2, 6), (2, 4, 12)):
        records = table.slice(low, high - low).to_batches()[0] if low < high else None
        stepped = stepper.step(state, records, until)
        state = stepped.state
        found += [row for batch in stepped.answers for row in batch.to_pylist()]
    assert [(row["node"], row["begin"], row["end"], row["i0"]) for row in found] == [
        (0, 0, 5, 2),
        (1, 0, 9, 2),
    ]


def test_keys_that_windows_have_left_are_forgotten():
    tree = tree_of(
        [session(3), landmark("a", end="6 microseconds"), threshold_of()], {"n": count()}
    )
    keys = [[event(t, a=t == 1) for t in range(9)], [event(40)]]
    found, state = steps(tree, layout_of(tree), keys, [5, 30, 60], random.Random(1))
    assert [len(rows) for rows in found.values()] == [2, 1, len(found[2])]
    assert state is None


def threshold_of():
    return threshold("a", inside=Window(size=4, slide=4), outside=Window(size=9, slide=3))


def test_state_is_a_partial_for_each_open_window_not_for_each_record():
    tree = tree_of([count_window(1000, every=500)], {"n": count(), "total": sum_("i")})
    sizes = []
    for rows in (600, 990):
        keys = [[event(t) for t in range(rows)]]
        _, state = steps(tree, layout_of(tree), keys, [rows // 2, rows + 1], random.Random(1))
        sizes.append(len(state))
    assert sizes[0] == sizes[1]


class Pairs:
    """State of its own making."""

    def __init__(self):
        self.seen = {3, 4}

    def f_disc(self, record):
        self.seen.add(record.time)
        begins = len(self.seen) % 2
        return begins, int(begins and len(self.seen) > 3)

    def state(self):
        return sorted(self.seen)

    def restore(self, state):
        self.seen = set(state)


class Hidden(Pairs):
    state = None


class Slotted:
    __slots__ = ()

    def f_disc(self, record):
        return 0, 0


def test_a_class_may_say_what_its_state_is():
    tree = tree_of([custom(Pairs)], {"n": count()})
    keys = [[event(10 + t) for t in range(9)]]
    found, _ = steps(tree, layout_of(tree), keys, [12, 15, 16, 30], random.Random(1))
    assert [row[1:] for row in found[0]] == [(10, 12, 2), (12, 14, 2), (14, 16, 2), (16, 18, 2)]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Hidden, "Hidden cannot be saved .* self.seen has a set in it"),
        (Slotted, "Slotted cannot be saved .* no attributes"),
    ],
)
def test_what_cannot_be_saved_is_refused(made, message):
    tree = tree_of([custom(made)], {"n": count()})
    with pytest.raises(RunError, match=message):
        steps(tree, layout_of(tree), [[event(1)]], [5], random.Random(1))


def test_sessions_wait_for_a_record_at_their_very_end():
    # 0  3  6
    # x  x      a record exactly a gap later is in the session
    tree = tree_of([session(3)], {"n": count()})
    keys = [[event(0), event(3)]]
    for marks, answers in (([3], 0), ([3, 4], 0), ([3, 4, 6], 0), ([3, 4, 6, 7], 1)):
        found, _ = steps(tree, layout_of(tree), keys, marks, random.Random(1))
        assert len(found[0]) == answers
    assert found[0] == [("k0", 0, 6, 2)]


def test_a_tree_that_lost_a_window_goes_on_with_the_others():
    kinds = [KINDS["count"], KINDS["punctuation"]]
    both = tree_of(kinds, {"n": count(), "total": sum_("i")})
    fewer = tree_of(kinds[1:], {"total": sum_("i")})
    keys = [[event(t, i=t, a=t % 4 == 0) for t in range(9)]]
    table = table_of(keys)
    first = StreamSteps(both, layout_of(both)).step(None, table.slice(0, 7).to_batches()[0], 7)
    then = StreamSteps(fewer, layout_of(fewer)).step(first.state, table.slice(7).to_batches()[0], 9)
    assert [(row["begin"], row["end"], row["i0"]) for row in then.answers[0].to_pylist()] == [
        (4, 8, 4 + 5 + 6 + 7)
    ]


def test_aggregates_of_the_users_own():
    kinds = [count_window(7, every=3), KINDS["hopping"], KINDS["punctuation"]]
    own = OwnAggregates(kinds)
    events = tied([Event(t // 2, t % 7 / 4, t, t % 5 == 0, False, None) for t in range(40)])
    marks = [3, 8, 9, 16, 25]
    found, _ = steps(own.tree, own.layout, [events], marks, random.Random(1))
    for number, kind in enumerate(kinds):
        wanted = [
            ("k0", start, end, min((e.i, e.x) for e in held)[1], -max(e.x for e in held))
            for start, end, held in windows(kind, events)
            if is_closed(kind, end, marks[-1])
        ]
        assert sorted(found[number]) == sorted(wanted)
        assert len(wanted) > 5
    assert own.called


def test_functions_that_come_again_are_known():
    def made(factor=2):
        return lambda a, b: max(a, b) * (factor > 0)

    plain = [aggregate("x", lambda a, b: max(a, b), float, 0.0).monoid for _ in range(2)]
    assert plain[0] != plain[1]
    assert intern_monoid(plain[0]) is intern_monoid(plain[1])
    closures = [aggregate("x", made(), float, 0.0).monoid for _ in range(2)]
    assert intern_monoid(closures[1]) is closures[1]
