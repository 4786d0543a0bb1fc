"""Circular memory of a power of two, so that a partial's place is its number under a mask."""


def ring_length(capacity: int) -> int:
    """The least power of two that is at least `capacity`."""
    length = 1
    while length < capacity:
        length *= 2
    return length
