"""One source per algorithm: a technique's functions, bound to a monoid, compiled or as they stand.

An algorithm calls `combine`, `inverse`, `load`, `store` and `blank` as if they were globals of its
module. `bind` gives it those of one monoid. Compiled, they are inlined; the machine code is kept on
disk under a name that holds the monoid's, so that a new process loads it instead of compiling.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numba
import numpy as np

from muntin.model.aggregate import Monoid

Function = Callable[..., Any]


def load_one(values: Any, index: int) -> Any:
    """The partial at `index` of a column."""
    return values[index]


def store_one(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of a column."""
    values[index] = partial


def blank_one(values: Any, length: int) -> Any:
    """An uninitialised column like `values`."""
    return np.empty(length, values.dtype)


def load_two(values: Any, index: int) -> Any:
    """The partial at `index` of two columns."""
    return (values[0][index], values[1][index])


def store_two(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of two columns."""
    values[0][index], values[1][index] = partial


def blank_two(values: Any, length: int) -> Any:
    """Two uninitialised columns like `values`."""
    return (np.empty(length, values[0].dtype), np.empty(length, values[1].dtype))


def load_three(values: Any, index: int) -> Any:
    """The partial at `index` of three columns."""
    return (values[0][index], values[1][index], values[2][index])


def store_three(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of three columns."""
    values[0][index], values[1][index], values[2][index] = partial


def blank_three(values: Any, length: int) -> Any:
    """Three uninitialised columns like `values`."""
    return (
        np.empty(length, values[0].dtype),
        np.empty(length, values[1].dtype),
        np.empty(length, values[2].dtype),
    )


def load_object(values: Any, index: int) -> Any:
    """The partial at `index` of a list."""
    return values[index]


def blank_object(values: Any, length: int) -> Any:
    """A list of `length` places."""
    return [None] * length


# How a partial of so many scalars is read, written and made room for.
_LAYOUTS: dict[int, dict[str, Function]] = {
    1: {"load": load_one, "store": store_one, "blank": blank_one},
    2: {"load": load_two, "store": store_two, "blank": blank_two},
    3: {"load": load_three, "store": store_three, "blank": blank_three},
}
# Partials that are any Python object, in a list.
_OBJECTS: dict[str, Function] = {"load": load_object, "store": store_one, "blank": blank_object}


@cache
def bind(function: FunctionType, monoid: Monoid) -> Function:
    """`function` compiled for a monoid's numeric partials; once per process and, on disk, machine."""
    parts = {"combine": monoid.combine, **_LAYOUTS[monoid.width]}
    if monoid.inverse is not None:
        parts["inverse"] = monoid.inverse
    clone = _clone(function, {name: numba.njit(part) for name, part in parts.items()})
    # The cache knows a function by its name and its file's age. What was bound is in neither, so
    # the name carries it.
    code = repr([part.__code__.co_code for part in parts.values()]).encode()
    digest = hashlib.sha256(code).hexdigest()[:12]
    clone.__qualname__ = f"{function.__qualname__}_{monoid.name}_{digest}"
    return compiled(clone)


def bind_python(
    function: FunctionType, combine: Function, inverse: Function | None = None
) -> Function:
    """`function` as plain Python, for partials that are any object."""
    return _clone(function, {"combine": combine, "inverse": inverse, **_OBJECTS})


def compiled(function: Function) -> Function:
    """`function` as machine code, compiled at its first call and kept on disk."""
    # Where neither the package's folder nor the home is writable, as on some executors, numba
    # finds no place for its cache and refuses; the machine's temporary folder will do.
    try:
        return numba.njit(function, cache=True, nogil=True)  # type: ignore[no-any-return]
    except RuntimeError:
        place = os.path.join(tempfile.gettempdir(), f"muntin-kernels-{os.getuid()}")
        os.makedirs(place, mode=0o700, exist_ok=True)
        numba.config.CACHE_DIR = place
        return numba.njit(function, cache=True, nogil=True)  # type: ignore[no-any-return]


def _clone(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """The same code under other globals."""
    clone = FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    clone.__module__ = function.__module__
    clone.__doc__ = function.__doc__
    return clone
