"""The names that `compile.bind` gives to an algorithm, declared for readers and type checkers.

Nothing here runs: an algorithm imports these under `TYPE_CHECKING` alone.
"""

from typing import Any

# --- of the monoid, for every algorithm


def combine(older: Any, newer: Any) -> Any:
    """Partial ⊕ partial; the older stands left."""
    raise NotImplementedError


def inverse(total: Any, oldest: Any) -> Any:
    """`total` without the partial that was combined first."""
    raise NotImplementedError


def load(values: Any, index: int) -> Any:
    """The partial at `index`."""
    raise NotImplementedError


def store(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index`."""
    raise NotImplementedError


def blank(values: Any, length: int) -> Any:
    """Room for `length` partials like those in `values`."""
    raise NotImplementedError


def same(one: Any, other: Any) -> bool:
    """Whether two partials are equal; NaN equals NaN."""
    raise NotImplementedError


# --- of an algorithm, for the drivers in `drive.py`
#
# Its state is `memory`, arrays that are written in place, and `cursor`, a small tuple that every
# change returns anew and that machine code keeps in registers. A cursor begins (low, high): the
# structure holds the partials number low to high - 1 of its stream.


def start(values: Any, sizes: Any) -> Any:
    """(memory, cursor) of an empty window over partials like `values`.

    `sizes` are the window sizes that will be asked for, in ascending order; the last of them
    bounds how many partials are held.
    """
    raise NotImplementedError


def insert(memory: Any, cursor: Any, partial: Any) -> Any:
    """The cursor after a newest partial came in; the window is not full before."""
    raise NotImplementedError


def evict(memory: Any, cursor: Any) -> Any:
    """The cursor after the oldest partial left; the window is not empty before."""
    raise NotImplementedError


def query(memory: Any, cursor: Any, size: int, slot: int) -> Any:
    """The aggregate of the latest `size` partials, at least one of those that are held.

    `slot` is where in `sizes` the asker's window stands. Algorithms of one window answer only for
    all partials that are held.
    """
    raise NotImplementedError


def at(memory: Any, cursor: Any, number: int) -> Any:
    """The partial that came in as `number`; only of algorithms that can be a store of slices."""
    raise NotImplementedError


# --- the uncounted functions under the counting ones in `layout.py`

plain_combine = combine
plain_inverse = inverse
plain_load = load
plain_store = store
plain_blank = blank
plain_same = same
