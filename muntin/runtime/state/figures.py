"""What a bucket tells of its state after a batch, by lane, in the form of counts of late rows.

Under a lane and the number of a node there are late rows (`late_rows`). The numbers of what is told
here are below those of all nodes.
"""

from collections.abc import Mapping, Sequence

from muntin.runtime.state.levels import KeptLevel

# How many partials a batch combined.
COMBINED = -2


def rows_at(level: int) -> int:
    """Returns the number under which the rows of a level are told."""
    return -3 - 2 * level


def bytes_at(level: int) -> int:
    """Returns the number under which the bytes of a level are told."""
    return -4 - 2 * level


def state_figures(
    kept: Mapping[int, Sequence[KeptLevel]], combined: Mapping[int, int]
) -> dict[tuple[int, int], int]:
    """Returns the figures of all lanes, given what they keep and how much they combined."""
    found = {(lane, COMBINED): count for lane, count in combined.items()}
    for lane, levels in kept.items():
        for number, level in enumerate(levels):
            found[lane, rows_at(number)] = sum(segment.rows for segment in level.segments)
            found[lane, bytes_at(number)] = sum(segment.bytes for segment in level.segments)
    return {place: figure for place, figure in found.items() if figure}
