"""Declares the names that `compile.bind` gives to an algorithm, for readers and type checkers.

Nothing here runs: algorithms import these under `TYPE_CHECKING` only.
"""

from typing import Any

# --- of the monoid, for every algorithm


def combine(older: Any, newer: Any) -> Any:
    """Returns older ⊕ newer."""
    raise NotImplementedError


def inverse(total: Any, oldest: Any) -> Any:
    """Returns `total` without the partial that was combined first."""
    raise NotImplementedError


def load(values: Any, index: int) -> Any:
    """Returns the partial at `index`."""
    raise NotImplementedError


def store(values: Any, index: int, partial: Any) -> None:
    """Stores a partial at `index`."""
    raise NotImplementedError


def blank(values: Any, length: int) -> Any:
    """Allocates `length` partials like those in `values`."""
    raise NotImplementedError


def same(a: Any, b: Any) -> bool:
    """Whether two partials are equal; NaN equals NaN."""
    raise NotImplementedError


# --- of an algorithm, for the drivers in `drivers.py`
#
# Its state is `memory`, arrays that are written in place, and `cursor`, a small tuple that every
# change returns and that machine code keeps in registers. A cursor starts with (low, high): the
# structure holds the partials number low to high - 1 of its stream.


def start(values: Any, sizes: Any) -> Any:
    """Returns (memory, cursor) of an empty window over partials like `values`.

    `sizes` are the window sizes that will be queried, ascending; the last is the most partials that
    are held.
    """
    raise NotImplementedError


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """Adds the newest partial to a window that is not full; returns the cursor."""
    raise NotImplementedError


def evict(memory: Any, cursor: Any) -> Any:
    """Drops the oldest partial of a window that is not empty; returns the cursor."""
    raise NotImplementedError


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """Returns the aggregate of the latest `size` partials, from one to all that are held.

    `slot` is the window's index in `sizes`. Algorithms of one window answer only for all partials
    that are held.
    """
    raise NotImplementedError


def at(memory: Any, cursor: Any, number: int) -> Any:
    """Returns the partial number `number`; only in algorithms that can be a store of slices."""
    raise NotImplementedError


# --- the uncounted functions under the counting ones in `layout.py`

plain_combine = combine
plain_inverse = inverse
plain_load = load
plain_store = store
plain_blank = blank
plain_same = same
