"""Ring buffers whose length is a power of two, so that a mask turns a number into a place."""


def ring_length(capacity: int) -> int:
    """The least power of two that is at least `capacity`."""
    length = 1
    while length < capacity:
        length *= 2
    return length
