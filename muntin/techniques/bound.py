"""The names that `compile.bind` gives to an algorithm, declared for readers and type checkers.

Nothing here runs: an algorithm imports these under `TYPE_CHECKING` alone.
"""

from typing import Any


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
