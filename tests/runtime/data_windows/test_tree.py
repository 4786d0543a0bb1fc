"""User-defined windows in the runtime against the naive answer: each window from its records."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import (
    count_window,
    custom,
    delta,
    landmark,
    punctuation,
)
from muntin.aggregates.aggregate import Aggregate, count, sum_
from muntin.errors import RunError
from muntin.runtime.data_windows.cutter import DEFAULT, STORES, Cutter
from muntin.runtime.data_windows.tree import DataTreeRuntime
from muntin.techniques import cutty
from tests.support.data_trees import (
    AGGREGATES,
    KINDS,
    LAST_THREE,
    OwnAggregates,
    answers,
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
from tests.support.record_windows import Event, windows
from tests.support.windows import hopping

together = given(
    keys=st.lists(events_of_a_key, min_size=1, max_size=4),
    chosen=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5, unique=True),
    rows_a_batch=st.sampled_from([1, 2, 3, 7, 100]),
)


@together
@settings(max_examples=examples(25))
def test_windows_together_equal_the_naive_answer(keys, chosen, rows_a_batch):
    check_together(keys, chosen, rows_a_batch, DEFAULT, AGGREGATES)


@pytest.mark.parametrize("store", [name for name in STORES if name != DEFAULT])
@together
@settings(max_examples=examples(16))
def test_every_store_gives_the_same(store, keys, chosen, rows_a_batch):
    check_together(keys, chosen, rows_a_batch, store, {"n": count()})


def cutters_of(runtime):
    return [reader for reader, _ in runtime.readers if isinstance(reader, Cutter)]


def check_together(keys, chosen, rows_a_batch, store, aggregates):
    keys = [ordered for steps in keys if (ordered := in_order(steps))]
    kinds = [*(KINDS[name] for name in chosen), LAST_THREE]
    tree = tree_of(kinds, aggregates)
    layout = layout_of(tree)
    runtime = DataTreeRuntime(tree, layout, store=store)
    found = answers(tree, layout, runtime, table_of(keys), rows_a_batch)
    if store == DEFAULT:
        for cutter in cutters_of(runtime):
            assert cutter.state[cutty.MOST_BEYOND] <= 1
    for number, kind in enumerate(kinds):
        wanted = [row[: 3 + len(aggregates)] for row in expected(kind, keys)]
        assert_same_rows(found[number], wanted)


@pytest.mark.parametrize("name", KINDS)
@given(steps=events_of_a_key, rows_a_batch=st.sampled_from([1, 4, 100]))
@settings(max_examples=examples(16))
def test_a_window_alone_equals_the_naive_answer(name, steps, rows_a_batch):
    events = in_order(steps)
    tree = tree_of([KINDS[name]])
    layout = layout_of(tree)
    runtime = DataTreeRuntime(tree, layout)
    found = answers(tree, layout, runtime, table_of([events]), rows_a_batch)
    assert_same_rows(found[0], expected(KINDS[name], [events]))


def run_alone(kind, events, rows_a_batch=100):
    tree = tree_of([kind], {"n": count(), "total": sum_("i")})
    layout = layout_of(tree)
    runtime = DataTreeRuntime(tree, layout)
    return runtime, answers(tree, layout, runtime, table_of([events]), rows_a_batch)[0]


def test_a_record_may_end_one_window_and_begin_several():
    # km   0    5    10   15   20   25   30
    # [---------)                            3 is in [0, 10)
    #                     [---------)        27 is in [20, 30) and [25, 35), which begin with it
    #                          [---------)
    events = [event(1, km=3.0), event(2, i=10, km=27.0)]
    _, found = run_alone(delta("km", 10, every=5), events)
    assert sorted(found, key=repr) == [
        ("k0", 1, 2, 1, 1),
        ("k0", 1, 2, 1, 1),
        ("k0", 2, None, 1, 10),
        ("k0", 2, None, 1, 10),
    ]


def test_windows_nest():
    # 0 1 2 3 4 5
    # [---------)   a begins at 0, and again at 2; both end where b holds
    #     [-----)
    events = [event(t, i=1 << t, a=t in (0, 2), b=t == 5) for t in range(6)]
    _, found = run_alone(landmark("a", end="b"), events)
    assert sorted(found) == [("k0", 0, 5, 5, 31), ("k0", 2, 5, 3, 28)]


def test_many_slices_of_windows_that_nest_and_overlap():
    # Windows of a dozen lengths: slices of short ones die between those of long ones.
    sizes = [(300, 7), (299, 150), (80, 3), (41, 5), (40, 40), (11, 2), (3, 1), (900, 31)]
    kinds = [count_window(size, every=every) for size, every in sizes]
    events = [event(t, i=t * 37 % 101) for t in range(2000)]
    tree = tree_of(kinds, {"n": count(), "total": sum_("i")})
    layout = layout_of(tree)
    runtime = DataTreeRuntime(tree, layout)
    found = answers(tree, layout, runtime, table_of([events, events[:50]]), 333)
    for number, (size, every) in enumerate(sizes):
        wanted = []
        for key, rows in (("k0", 2000), ("k1", 50)):
            for low in range(0, rows, every):
                held = [one.i for one in events[low : min(low + size, rows)]]
                end = low + size if low + size < rows else None
                wanted.append((key, low, end, len(held), sum(held)))
        assert sorted(found[number], key=repr) == sorted(wanted, key=repr)
    state = cutters_of(runtime)[0].state
    assert state[cutty.MOST_STORED] > 100
    assert state[cutty.MOST_BEYOND] <= 1


def test_state_is_no_larger_than_the_open_windows():
    events = [event(t) for t in range(5000)]
    runtime, found = run_alone(count_window(500, every=10), events, rows_a_batch=700)
    assert len(found) == 500
    state = cutters_of(runtime)[0].state
    # Fifty windows are open at a time, each with a slice.
    assert state[cutty.MOST_STORED] <= 50
    assert state[cutty.MOST_BEYOND] <= 1


def test_sets_of_open_windows_are_kept_slice_by_slice():
    words = Aggregate(function="count_distinct", argument="word")
    tree = tree_of([count_window(500, every=10)], {"words": words})
    layout = layout_of(tree)
    runtime = DataTreeRuntime(tree, layout)
    events = in_order([Event(1, 1.0, t % 40, False, False, None) for t in range(5000)])
    for batch in table_of([events]).to_batches(max_chunksize=700):
        assert list(runtime.push(batch))
        ((reader, _),) = runtime.readers
        column = reader.open_slices.columns[words.components[0]]
        # Fifty windows are open at a time, each with a slice of ten records.
        assert len(reader.open_slices) == 50
        assert len(column.codes) <= 500
        assert len(column.coding.values) <= 40


class Wrong:
    def f_disc(self, record):
        return 0, 1


class Short:
    def f_disc(self, record):
        return 1


class Greedy:
    def trigger(self, record):
        return False

    def evict(self, record, held):
        return held + 1


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Wrong, "Wrong ended a window that had not begun before"),
        (Short, "Short must give two counts for each record"),
        (Greedy, "Greedy cannot evict 1 of 0 records"),
    ],
)
def test_a_class_that_cannot_be_right_is_refused(made, message):
    with pytest.raises(RunError, match=message):
        run_alone(custom(made), [event(1), event(2)])


def test_aggregates_of_the_users_own():
    events = in_order([Event(t % 3, t / 4, t, t % 5 == 0, False, None) for t in range(40)])
    for number in (3, 17):
        events[number] = Event(events[number].time, None, number, None, False, None)

    kinds = [count_window(7, every=3), hopping(11, every=4), punctuation("a")]
    own = OwnAggregates(kinds)
    runtime = DataTreeRuntime(own.tree, own.layout)
    found = answers(own.tree, own.layout, runtime, table_of([events]), 9)
    for number, kind in enumerate(kinds):
        wanted = []
        for start, end, held in windows(kind, events):
            xs = [(e.i, e.x) for e in held if e.x is not None]
            wanted.append(("k0", start, end, xs[0][1], -max(x for _, x in xs)))
        assert sorted(found[number], key=repr) == sorted(wanted, key=repr)
    assert own.called
