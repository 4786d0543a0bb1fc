"""Binds a technique's functions to a monoid, compiled or as plain Python, from one source.

An algorithm calls `combine`, `inverse`, `load` and the other functions of `bound_names.py` as if
they were globals of its module. `bind` returns a copy that calls those of one monoid, and does the
same for every function of this package that it calls. All of them are inlined into one kernel. Its
machine code is stored on disk, so that a new process loads it instead of compiling it.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numba

from muntin.aggregates.monoids import Monoid
from muntin.techniques.kernels.kernel_cache import KernelCache, NoDigest, digest, is_constant
from muntin.techniques.kernels.layout import COUNTED, LAYOUTS, OBJECTS

Function = Callable[..., Any]

# numba's own annotations lack some options, and differ between versions.
_njit: Callable[..., Function] = numba.njit
# The functions of an algorithm that a driver calls.
FACE = ("start", "insert", "evict", "query")
# Further functions of an algorithm that can be a store of slices (see `cutty.py`).
STORE = ("at", "stored_count", "settle", "resize")

# The prefix of modules with algorithms.
_TECHNIQUES = "muntin.techniques."


@cache
def bind(
    function: FunctionType,
    monoid: Monoid,
    *,
    algorithm: ModuleType | None = None,
    counted: bool = False,
) -> Function:
    """Returns `function` compiled for a monoid's numeric partials, once per process and machine.

    A driver needs the `algorithm` whose functions it calls. With `counted`, partials carry a tally
    of operations; see `layout.py`.
    """
    given = _names_to_bind(
        monoid.combine, monoid.inverse, LAYOUTS[monoid.width], algorithm, counted
    )
    # A counted partial holds its tally, an array, so functions that return one count references.
    clone = _copy_with(
        _bind_names(function, given, lambda part, managed: _inline(part, managed or counted))
    )
    closed = all(_is_closed(part) for part in (monoid.combine, monoid.inverse) if part is not None)
    try:
        sources = digest(clone) if closed else None
    except NoDigest:
        sources = None
    if sources is None:
        return _njit(clone, nogil=True)
    # A profile shows kernels by name, so the name contains the monoid.
    clone.__qualname__ = f"{function.__qualname__}_{monoid.name}_{sources[:16]}"
    return compile_kernel(clone)


def bind_python(
    function: FunctionType,
    combine: Function,
    inverse: Function | None = None,
    *,
    algorithm: ModuleType | None = None,
    counted: bool = False,
) -> Function:
    """Returns `function` as plain Python, for partials that are any object."""
    return _bind_names(
        function,
        _names_to_bind(combine, inverse, OBJECTS, algorithm, counted),
        lambda part, _: part,
    )


@cache
def can_compile(monoid: Monoid) -> bool:
    """Whether numba can compile the combine of a monoid of floats; compiles it to find out."""
    partial = (1.0,) * monoid.width if monoid.width > 1 else 1.0
    try:
        _njit(monoid.combine)(partial, partial)
    except Exception:
        # If it is an error of the user's, plain Python will raise it with a clearer message.
        return False
    return True


def compile_kernel(function: Function) -> Function:
    """Returns `function` as machine code, compiled at its first call and kept on disk."""
    kernel: Any = _njit(function, nogil=True)
    try:
        kernel._cache = KernelCache(function)
        kernel.compile = kernel._cache.with_lock(kernel.compile)
    except NoDigest:
        # numba's own cache identifies the function by its file.
        kernel.enable_caching()
    except OSError:
        # No folder is writable: it is compiled in every process.
        pass
    return kernel  # type: ignore[no-any-return]


# Functions that a kernel calls are always inlined: otherwise LLVM passes cursors in memory, which
# costs more than the algorithm.
_INLINED = {"forceinline": True}
# Functions that do not allocate do not count references to arrays: that takes several atomic
# instructions a slide, for arrays that the caller keeps alive anyway.
_UNMANAGED = {"forceinline": True, "_nrt": False}


def inline(function: Function) -> Function:
    """Returns `function` for kernels to call, which inline it; it must not allocate arrays."""
    return _inline(function, False)


@cache
def _inline(function: Function, managed: bool) -> Function:
    """Cached, since the same small functions are bound many times."""
    return _njit(function, **(_INLINED if managed else _UNMANAGED))


def _names_to_bind(
    combine: Function,
    inverse: Function | None,
    layout: dict[str, Function],
    algorithm: ModuleType | None,
    counted: bool,
) -> dict[str, Function]:
    """Returns the function to bind to each name."""
    given = {"combine": combine, **layout}
    if inverse is not None:
        given["inverse"] = inverse
    if counted:
        given = {f"plain_{name}": part for name, part in given.items()} | {
            name: COUNTED[name] for name in given
        }
    if algorithm is not None:
        given |= {name: getattr(algorithm, name) for name in FACE}
        given |= {name: getattr(algorithm, name) for name in STORE if hasattr(algorithm, name)}
    return given


def _bind_names(
    function: FunctionType, given: dict[str, Function], finish: Callable[[Function, bool], Function]
) -> FunctionType:
    """Returns a copy of `function` with the given globals; techniques' functions that it calls are
    bound, too.

    `finish(function, allocates)` makes the final form of each function that is called.
    """
    names = {
        name: finish(
            _bind_names(part, given, finish) if _is_ours(part) else part,
            _makes_room(name, part, given),
        )
        for name, part in _parts_to_bind(function, given).items()
    }
    # Unchanged if nothing is bound, so that it is compiled once for all callers.
    return _copy_with(function, names) if names else function


def _copy_with(function: FunctionType, names: dict[str, Any] | None = None) -> FunctionType:
    """Returns a function with the same code and other globals."""
    copy = FunctionType(
        function.__code__,
        {**function.__globals__, **(names or {})},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    return copy


def _parts_to_bind(function: FunctionType, given: dict[str, Function]) -> dict[str, Any]:
    """Returns the functions that `function` calls by name and that must be bound."""
    parts = {
        name: given.get(name, function.__globals__.get(name)) for name in _names_read(function)
    }
    return {name: part for name, part in parts.items() if name in given or _is_ours(part)}


def _makes_room(name: str, part: Any, given: dict[str, Function]) -> bool:
    """Whether a function allocates: `blank`, functions that use numpy, and their callers."""
    return name.endswith("blank") or (
        _is_ours(part)
        and (
            "np" in _names_read(part)
            or any(_makes_room(*called, given) for called in _parts_to_bind(part, given).items())
        )
    )


def _names_read(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_names


def _is_ours(part: Any) -> bool:
    """Whether a function belongs to a technique; functions of monoids are not bound."""
    return isinstance(part, FunctionType) and part.__module__.startswith(_TECHNIQUES)


def _is_closed(function: Function) -> bool:
    """Whether a digest identifies a function: it depends on its code and on constants only."""
    return (
        isinstance(function, FunctionType)
        and function.__closure__ is None
        and function.__defaults__ is None
        and all(
            is_constant(function.__globals__[name])
            for name in _names_read(function)
            if name in function.__globals__
        )
    )
