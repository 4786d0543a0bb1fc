"""Which events came too late for a window: all whose first window had been given out."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregates.aggregate import count
from muntin.model.query import Query
from muntin.model.windows import Window
from muntin.model.workload import workload
from muntin.optimizer.optimize import optimize
from muntin.runtime.state.figures import ALL, count_late
from muntin.runtime.state.periodic_tree import PeriodicStreamTree
from muntin.runtime.state.stream_tree import EVENTS, START
from muntin.runtime.storage.layout import Layout
from tests.support.window_sets import windows as any_windows


def stream_tree_of(number, *windows):
    queries = [
        Query(name=str(window), window=window, aggregates={"n": count()}, time="t")
        for window in windows
    ]
    (tree,) = optimize(workload(queries), "shared").trees
    layout = Layout(key_columns=(), start=START, storages=())
    return PeriodicStreamTree(number=number, tree=tree, layout=layout)


def table(rows):
    starts, events = ([row[index] for row in rows] for index in (0, 1))
    return pa.table({START: pa.array(starts, pa.int64()), EVENTS: pa.array(events, pa.int64())})


def test_a_short_window_is_gone_before_a_long_one():
    # 0    60   120  180
    # [----)                 a minute: given out at 130
    # [--------------)       three minutes: open
    short, long = Window(size=60, slide=60), Window(size=180, slide=180)
    tree = stream_tree_of(4, short, long)
    nodes = [node.window for node in tree.tree.nodes]
    arrived = {4: table([(0, 3), (60, 2), (120, 5)]), ALL: table([(0, 3), (60, 2), (120, 5)])}
    late = count_late(arrived, [tree], 130)
    assert late == {(4, nodes.index(short)): 5, (ALL, ALL): 5}
    assert count_late(arrived, [tree], 180)[4, nodes.index(long)] == 10
    assert count_late({}, [tree], 180) == {}


@given(
    window=any_windows(most=6),
    rows=st.lists(st.tuples(st.integers(-30, 60), st.integers(1, 3)), max_size=9),
    passed=st.integers(-20, 90),
)
def test_by_every_window_that_holds_it(window, rows, passed):
    tree = stream_tree_of(0, window)
    expected = 0
    for start, events in rows:
        begins = range(start - window.size + 1, start + 1)
        held = [begin for begin in begins if (begin - window.offset) % window.slide == 0]
        expected += events * any(begin + window.size <= passed for begin in held)
    found = count_late({0: table(rows)}, [tree], passed)
    assert found == ({(0, 0): expected} if expected else {})
