"""Lanes of user-defined windows: in a bucket, in a checkpoint, and from one plan to the next."""

import json

import pyarrow as pa
import pytest

import muntin as mt
from muntin.errors import RunError
from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.table import INTEGER
from muntin.runtime.columns.layout import Layout, kept
from muntin.runtime.records.read_records import RecordLayout
from muntin.runtime.state.bucket import BucketRuntime, BucketState
from muntin.runtime.state.record_lane import ALIKE, RecordLane, RecordNeeds, grains
from muntin.runtime.stream_plan.change_plan import changed, first_start
from muntin.runtime.stream_plan.change_records import resumed
from muntin.runtime.stream_plan.stream_plan_json import stream_plan_from_json, stream_plan_to_json
from muntin.share.evolve.pin_data_windows import with_code
from muntin.share.evolve.pin_running_queries import pinned
from muntin.share.optimizer import optimize
from tests.support.simulated_streams import Memory
from tests.support.user_aggregates import Tens

SECOND = 1_000_000


def query(name, window, **parts):
    given = {"aggregates": {"n": mt.count()}, "time": "ts", "keys": ["k"], **parts}
    return mt.Query(name=name, window=window, **given)


VISITS = query("visits", mt.session("8 seconds"))
LONG = query("long", mt.session("80 seconds"))
ON = query("on", mt.punctuation("state"))
COUNTS = query("counts", mt.count_window(5), aggregates={"s": mt.sum("v")})
TENS = query("tens", mt.custom(Tens, columns=["v"]))
OWN = query("own", mt.count_window(7), aggregates={"p": mt.aggregate("v", max, float, 0)})


def plan_of(*queries):
    return optimize(mt.model.query.workload(queries), "shared")


def needs_of(plan):
    found = []
    for tree in plan.record_trees:
        columns = {sql: "long" for sql in tree.conditions}
        columns |= {c.argument: "long" for a in tree.aggregates for c in a.components if c.argument}
        numbers = {ALIKE: INTEGER}
        if tree.grain is not None:
            bounds = [Component(kind="min", argument="ts"), Component(kind="max", argument="ts")]
            parts = [c for a in tree.aggregates for c in a.components]
            columns, numbers = {}, dict.fromkeys([*bounds, *parts], INTEGER)
        found.append(RecordNeeds(keys=("text",), columns=columns, numbers=numbers))
    return found


def started(*queries, spare=2):
    plan = plan_of(*queries)
    facts = {"buckets": (0, 1), "delay": SECOND, "retain": 0, "ansi": False, "spare": spare}
    return first_start(plan, [], needs_of(plan), **facts)


def changes(running, *queries, watermark=100 * SECOND):
    plan = pinned(plan_of(*queries), running.plan)
    return changed(running, plan, [], needs_of(plan), watermark=watermark, given=watermark)


def lanes(running):
    return {
        name: lane for lane in running.records for one in lane.tree.nodes for name in one.queries
    }


def test_a_query_that_stays_keeps_its_lane_whoever_comes_and_goes():
    running = started(VISITS, LONG, ON, COUNTS)
    before = lanes(running)
    assert before["visits"] is before["long"]
    assert before["on"] is before["counts"]
    after = changes(running, LONG, COUNTS, TENS)
    found = lanes(after)
    assert found["long"].number == before["long"].number
    # The shortest gap has left, and the grains stay as they were.
    assert found["long"].tree.grain == before["long"].tree.grain
    assert found["counts"].number == before["counts"].number
    assert found["counts"].columns == {"v": before["counts"].columns["v"]}
    assert found["tens"].number not in (before["long"].number, before["counts"].number)
    assert after.complete_from == {"long": None, "counts": None, "tens": found["tens"].since}
    assert found["tens"].since == 101 * SECOND + 1000


def test_a_session_that_comes_later_is_whole_a_gap_after_what_was_seen():
    running = changes(started(ON), ON, VISITS)
    since = lanes(running)["visits"].since
    width = SECOND
    assert since == 102 * SECOND
    assert since % width == 0
    assert running.complete_from["visits"] == since + 8 * SECOND


def test_a_query_that_changed_begins_anew():
    running = started(COUNTS)
    other = query("counts", mt.count_window(6), aggregates={"s": mt.sum("v")})
    found = changes(running, other)
    assert found.records[0].number != running.records[0].number
    assert found.complete_from["counts"] is not None


def test_without_room_a_change_is_refused():
    running = started(COUNTS, spare=0)
    with pytest.raises(RunError, match="'on' need 1 columns of records and keys of the kind long"):
        changes(started(VISITS, spare=0), VISITS, ON)
    with pytest.raises(RunError, match="'visits' need columns: 2 of extreme"):
        changes(running, COUNTS, VISITS)


def test_checkpoints_have_names_and_the_plan_has_the_code():
    running = started(VISITS, COUNTS, TENS, OWN)
    data = stream_plan_to_json(running)
    back = stream_plan_from_json(json.loads(json.dumps(data)))
    assert stream_plan_to_json(back) == data
    plan = plan_of(VISITS, COUNTS, TENS, OWN)
    again = pinned(plan, back.plan)
    assert {one.name: one.window for one in again.queries}["tens"] == TENS.window
    assert TENS.window in again.record_trees[1].kinds
    found = resumed(back, again)
    assert stream_plan_to_json(found) == data
    assert TENS.window in found.records[1].tree.kinds
    assert OWN.aggregates["p"] in found.records[1].tree.aggregates
    # Of a plan that has left some, the others are known again.
    fewer = with_code(back.plan, plan_of(TENS))
    windows = {one.name: one.window for one in fewer.queries}
    assert windows["tens"] == TENS.window
    assert isinstance(
        fewer.queries[3].aggregates["p"], mt.model.aggregates.user_aggregate.AbsentAggregate
    )


def grain_lane():
    (tree,) = plan_of(VISITS).record_trees
    (component,) = tree.aggregates[0].components
    part = kept(component, number=INTEGER, name="n", ansi=False)
    layout = Layout(key_columns=("k",), start="first", kept=(part,))
    return RecordLane(number=0, tree=tree, layout=RecordLayout(layout=layout, last="last"))


def rows(*found):
    names = ("k", "first", "last", "n")
    return pa.table({name: [row[i] for row in found] for i, name in enumerate(names)})


def test_grains_of_a_session_in_a_bucket():
    #   0        8        16       24       32
    #   aa   a   b    a                         grains of a second; all of a is one session
    lane = grain_lane()
    assert grains(lane.tree).edges[0].period == SECOND
    store, state = Memory(), BucketState()

    def step(until, *found):
        nonlocal state
        runtime = BucketRuntime([], store, BucketState.from_bytes(state.to_bytes()), [lane])
        arrived = {0: rows(*found)} if found else {}
        answers = [row for _, batch in runtime.step(arrived, until) for row in batch.to_pylist()]
        state = runtime.state
        return [(row["k"], row["begin"], row["end"], row["i0"]) for row in answers], runtime.due()

    half = SECOND // 2
    first, second = ("a", 0, half, 2), ("a", 5 * SECOND, 5 * SECOND, 1)
    found, due = step(10 * SECOND, second, ("b", 8 * SECOND, 8 * SECOND, 1), first)
    # Due when every grain has come that could hold a record within the gap.
    assert (found, due) == ([], 14 * SECOND)
    found, due = step(14 * SECOND, ("a", 12 * SECOND + half, 12 * SECOND + half, 3))
    assert (found, due) == ([], 17 * SECOND)
    # The watermark is in the middle of a grain: the one at 16 may still get records.
    assert step(17 * SECOND - 1000)[0] == []
    assert step(17 * SECOND)[0] == [("b", 8 * SECOND, 16 * SECOND, 1)]
    assert step(20 * SECOND) == ([], 21 * SECOND)
    assert step(21 * SECOND) == ([("a", 0, 20 * SECOND + half, 6)], None)
    assert store.data == {}


def test_records_that_are_alike_are_told_apart_again():
    (tree,) = plan_of(COUNTS).record_trees
    (component,) = tree.aggregates[0].components
    layout = RecordLayout(
        layout=Layout(
            key_columns=("text0",),
            start="start",
            kept=(kept(component, number=INTEGER, name="c", ansi=False),),
        ),
        values={component: ("v",)},
    )
    columns = {"v": ("long1", pa.int64()), "d": ("long2", pa.date32())}
    lane = RecordLane(number=0, tree=tree, layout=layout, columns=columns, alike="count0", since=5)
    found = lane.records(
        pa.table(
            {
                "text0": ["a", "b", "a"],
                "start": [7, 4, 6],
                "long1": [1, 2, None],
                "long2": [0, 0, 1],
                "count0": [3, 1, 1],
            }
        )
    )
    assert found.column("start").to_pylist() == [7, 7, 7, 6]
    assert found.column("v").to_pylist() == [1, 1, 1, None]
    assert str(found.column("d")[3]) == "1970-01-02"
