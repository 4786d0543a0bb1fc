"""Ring buffers whose length is a power of two, so that a mask turns a number into a place."""

from typing import Any


def ring_length(capacity: int) -> int:
    """The least power of two that is at least `capacity`."""
    length = 1
    while length < capacity:
        length *= 2
    return length


def evict(memory: Any, cursor: Any) -> Any:
    """No combine, for algorithms that read only the partials that an answer needs."""
    low, high, mask = cursor
    return low + 1, high, mask
