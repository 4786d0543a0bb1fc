"""Data windows that join a running tree see its records from an instant on, and change no other."""

import random
from dataclasses import replace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.model.data_windows import Delta
from muntin.model.windows import Window
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.data_tree import DataStreamTree
from muntin.runtime.state.stream_tree import START
from muntin.runtime.storage.layout import slots_of
from tests.support.data_trees import (
    AGGREGATES,
    KINDS,
    LAST_THREE,
    assert_same_rows,
    events_of_a_key,
    expected,
    in_order,
    layout_of,
    table_of,
    tree_of,
)
from tests.support.examples import examples
from tests.support.record_windows import is_closed, tied
from tests.support.simulated_streams import Memory

# By how much events are ahead of the watermark.
AHEAD = 6
# Neither periodic windows nor those over a growing column join a tree.
JOINING = {
    **{name: kind for name, kind in KINDS.items() if not isinstance(kind, Window | Delta)},
    "last three": LAST_THREE,
}


def stream_tree_of(windows, table):
    """A tree of windows, each by its name with the instant at which it joins, if it does."""
    kinds = [JOINING[name.rstrip("'")] for name in windows]
    tree = tree_of(kinds, AGGREGATES)
    named = zip(tree.nodes, windows, strict=True)
    tree = replace(tree, nodes=tuple(replace(node, queries=(name,)) for node, name in named))
    layout = replace(layout_of(tree), measures={})
    layout = replace(layout, layout=replace(layout.layout, start=START)).of_tree(tree)
    kinds = {field.name: field.type for field in table.schema}
    return DataStreamTree(
        number=0,
        tree=tree,
        record_layout=layout,
        columns={name: (name, kinds[name]) for name in kinds if name in layout.names},
        joined={name: since for name, since in windows.items() if since is not None},
    )


class Run:
    """A bucket through its batches; in each, events arrive that are some time ahead."""

    def __init__(self, keys, rng):
        self.table = table_of(keys).rename_columns({"time": START})
        self.times = self.table.column(START).to_pylist()
        self.store, self.state = Memory(), BucketState(given=-1000)
        self.rng, self.seen, self.rows = rng, -(10**6), {}

    def step(self, windows, until):
        tree = stream_tree_of(windows, self.table)
        new = [n for n, time in enumerate(self.times) if self.seen <= time < until + AHEAD]
        self.rng.shuffle(new)
        self.seen = until + AHEAD
        rows = self.table.take(pa.array(new, pa.int64())).select(tree.arriving_columns)
        known = BucketState.from_bytes(self.state.to_bytes())
        runtime = BucketRuntime([tree], self.store, known)
        for _, batch in runtime.step({0: rows} if new else {}, until):
            for row in batch.to_pylist():
                node = tree.tree.nodes[row["node"]]
                values = [row[place[0]] for place in slots_of(node, tree.layout)]
                given = (row["k"], row["begin"], row["end"], *values)
                self.rows.setdefault(node.queries[0], []).append(given)
        self.state = runtime.state


@given(
    keys=st.lists(events_of_a_key, min_size=1, max_size=3),
    names=st.permutations(sorted(JOINING)),
    gaps=st.lists(st.integers(0, 15), min_size=4, max_size=12),
    changes=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    seed=st.integers(0, 9),
)
@settings(max_examples=examples(25), deadline=None)
def test_windows_that_join_equal_those_over_the_records_from_then_on(
    keys, names, gaps, changes, seed
):
    keys = [ordered for one in keys if (ordered := tied(in_order(one)))]
    if not keys:
        return
    first, second, joins, later = names[:4]
    run, now = Run(keys, random.Random(seed)), -20
    windows: dict[str, int | None] = {first: None, second: None}
    until, left = {}, None
    for number, gap in enumerate(gaps):
        if number == changes[0]:
            windows[joins] = now + AHEAD
        if number == sum(changes):
            # One leaves, and an equal window joins with another one: it knows nothing of the first.
            left = windows.pop(second)
            until[second] = now
            windows |= {later: now + AHEAD, f"{second}'": now + AHEAD}
        now += gap
        run.step(windows, now)
    sinces = {second: left, **windows}
    for name, since in sinces.items():
        kind = JOINING[name.rstrip("'")]
        seen = [[e for e in events if since is None or e.time >= since] for events in keys]
        wanted = expected(kind, seen)
        closed = [row for row in wanted if is_closed(kind, row[2], until.get(name, now))]
        assert_same_rows(run.rows.get(name, []), closed)
