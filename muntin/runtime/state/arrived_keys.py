"""Counts the events, and the keys among them, that have arrived for each lane: planners ask."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from muntin.runtime.state.lane import EVENTS, Lane

# Instead of a node of a lane: how many events, and how many keys, have arrived for it.
# These numbers are below those of what is told of the state (`figures`).
ARRIVED, KEYS = -(1 << 20), -(1 << 20) - 1


def count_arrived(
    arrived: Mapping[int, pa.Table], lanes: Iterable[Lane]
) -> dict[tuple[int, int], int]:
    """Returns both counts by lane, where something has arrived; `arrived` has slices by lane."""
    counts = {}
    for lane in lanes:
        table = arrived.get(lane.number)
        if table is not None and table.num_rows:
            keys = list(lane.layout.key_columns)
            counts[lane.number, ARRIVED] = pc.sum(table.column(EVENTS)).as_py()
            counts[lane.number, KEYS] = (
                table.select(keys).group_by(keys, use_threads=False).aggregate([]).num_rows
                if keys
                else 1
            )
    return counts
