"""Panes: the partials in a ring, scanned anew for every answer.

needs      an associative combine; order is kept
time       n - 1 combines per slide, amortised and worst
space      n partials
windows    any number
appeared   Li et al., SIGMOD Record 2005; Cutty calls it the lazy store
"""

from typing import TYPE_CHECKING, Any

from muntin.techniques.kernels.ring import evict as evict
from muntin.techniques.kernels.ring import ring_length

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import blank, combine, load, store


def start(values: Any, sizes: Any) -> Any:
    """An empty window."""
    length = ring_length(sizes[-1])
    return (blank(values, length),), (0, 0, length - 1)


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """No combine."""
    low, high, mask = cursor
    store(memory[0], high & mask, partial)
    return low, high + 1, mask


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """`size - 1` combines."""
    _, high, mask = cursor
    total = load(memory[0], (high - size) & mask)
    for position in range(high - size + 1, high):
        total = combine(total, load(memory[0], position & mask))
    return total


def at(memory: Any, cursor: Any, number: int) -> Any:
    """The partial that came in as `number`, one of those that are held."""
    return load(memory[0], number & cursor[2])
