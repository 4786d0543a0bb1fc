"""FlatFIT: aggregates that grow over later partials, each with a pointer to where it ends.

needs      an associative combine; order is kept
time       3 combines per slide and window amortised, n at worst (the window reset)
space      n partials, 2n indices
windows    any number
appeared   Shein, Chrysanthis and Labrinidis, SSDBM 2017
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.techniques.kernels.ring import evict as evict
from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store

# The aggregate at place i reaches over [i, reaches[i]).


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    reaches = np.empty(length, np.int64)
    visited = np.empty(length, np.int64)
    return (blank(values, length), reaches, visited), (0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """No combine."""
    low, high, mask = cursor
    store(memory[0], high & mask, partial)
    memory[1][high & mask] = high + 1
    return low, high + 1, mask


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """A combine for every leap but the first; the places that it leapt from then reach the end."""
    _, high, mask = cursor
    aggregates, reaches, visited = memory
    count = 0
    place = (high - size) & mask
    while reaches[place] < high:
        visited[count] = place
        count += 1
        place = reaches[place] & mask
    total = load(aggregates, place)
    while count > 0:
        count -= 1
        total = combine(load(aggregates, visited[count]), total)
        store(aggregates, visited[count], total)
        reaches[visited[count]] = high
    return total
