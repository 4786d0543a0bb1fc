"""Columns by type: lanes share those that they aggregate alike, and a free one takes anything."""

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.table import FLOAT, INTEGER
from muntin.runtime.stream_plan.room import placed, room_for, uses_of

LEAST = uses_of(Component(kind="min", argument="x"), FLOAT, ansi=True)
TOTAL = uses_of(Component(kind="float_sum", argument="x"), FLOAT, ansi=True)
COUNT = uses_of(Component(kind="count"), INTEGER, ansi=True)
CHECKED = uses_of(Component(kind="sum", argument="n"), INTEGER, ansi=True)
MOMENTS = uses_of(Component(kind="moments", argument="x"), FLOAT, ansi=True)


def present(room):
    return {kind: count for kind, count in room.values.items() if count}


def test_lanes_share_columns_that_are_aggregated_alike():
    room = room_for([(["text"], [LEAST, COUNT]), (["long"], [TOTAL, LEAST, CHECKED])], spare=0)
    assert present(room) == {"float": 2, "integer": 2}
    functions = {}
    assert placed(LEAST, room, [], functions) == ("float0",)
    assert placed(COUNT, room, [], functions) == ("integer0",)
    taken = []
    # The first column is a minimum already, and a sum cannot be kept in it.
    assert placed(TOTAL, room, taken, functions) == ("float1",)
    assert placed(LEAST, room, taken, functions) == ("float0",)
    assert placed(CHECKED, room, taken, functions) == ("integer0", "integer1")
    assert placed(TOTAL, room, taken, functions) is None


def test_a_column_to_spare_takes_any_aggregate_of_its_type():
    room = room_for([(["text"], [LEAST])], spare=1)
    assert present(room) == {"float": 2, "integer": 1, "extreme": 1, "variance": 1}
    for uses in (LEAST, TOTAL):
        assert placed(uses, room, ["float0"], {"float0": "min"}) == ("float1",)
    assert placed(MOMENTS, room, ["float0"], {"float0": "min"}) == (
        "variance0",
        "float1",
        "integer0",
    )
    # Two halves of a sum that notices overflow.
    assert placed(CHECKED, room, [], {}) is None
