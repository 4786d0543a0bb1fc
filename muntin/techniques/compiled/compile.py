"""One source per algorithm: a technique's functions, bound to a monoid, compiled or as they stand.

An algorithm calls `combine`, `inverse`, `load` and the others of `bound.py` as if they were globals
of its module. `bind` gives it those of one monoid, and does the same for every function of this
package that it calls. Compiled, all are inlined; the machine code is kept on disk under a name that
holds what was bound, so that a new process loads it instead of compiling.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numba

from muntin.model.aggregates.monoids import Monoid
from muntin.techniques.compiled.kernel_cache import KernelCache, NoDigest, digest
from muntin.techniques.compiled.layout import COUNTED, LAYOUTS, OBJECTS

Function = Callable[..., Any]

# Its own annotations know neither all options nor cover all versions.
_njit: Callable[..., Function] = numba.njit
# What a driver calls of an algorithm.
FACE = ("start", "insert", "evict", "query")
# And what those may have besides that can be a store of slices (see `cutty.py`).
STORE = ("at", "kept", "settle", "moved")

# What the names of modules with algorithms begin with.
_TECHNIQUES = "muntin.techniques."


@cache
def bind(
    function: FunctionType,
    monoid: Monoid,
    *,
    algorithm: ModuleType | None = None,
    counted: bool = False,
) -> Function:
    """`function` compiled for a monoid's numeric partials; once per process and, on disk, machine.

    A driver is given the `algorithm` whose functions it calls. `counted` binds to partials that
    carry a tally, as in `layout.py`.
    """
    given = _given(monoid.combine, monoid.inverse, LAYOUTS[monoid.width], algorithm, counted)
    # A counted partial holds its tally, an array, so all that returns one counts references.
    clone = _copy(_bound(function, given, lambda part, managed: _part(part, managed or counted)))
    closed = all(_is_closed(part) for part in (monoid.combine, monoid.inverse) if part is not None)
    try:
        sources = digest(clone) if closed else None
    except NoDigest:
        sources = None
    if sources is None:
        return _njit(clone, nogil=True)
    # A profile shows kernels by name, so the name tells what was bound.
    clone.__qualname__ = f"{function.__qualname__}_{monoid.name}_{sources[:16]}"
    return compiled(clone)


def bind_python(
    function: FunctionType,
    combine: Function,
    inverse: Function | None = None,
    *,
    algorithm: ModuleType | None = None,
    counted: bool = False,
) -> Function:
    """`function` as plain Python, for partials that are any object."""
    return _bound(function, _given(combine, inverse, OBJECTS, algorithm, counted), lambda it, _: it)


@cache
def compiles(monoid: Monoid) -> bool:
    """Whether a combine of floating partials can be machine code: it is tried."""
    one = (1.0,) * monoid.width if monoid.width > 1 else 1.0
    try:
        _njit(monoid.combine)(one, one)
    except Exception:
        # Whatever it was, Python will say it in words that the user knows.
        return False
    return True


def compiled(function: Function) -> Function:
    """`function` as machine code, compiled at its first call and kept on disk."""
    kernel: Any = _njit(function, nogil=True)
    try:
        kernel._cache = KernelCache(function)
    except NoDigest:
        # Numba's own cache knows the function by its file.
        kernel.enable_caching()
    except OSError:
        # It is compiled in every process.
        pass
    return kernel  # type: ignore[no-any-return]


# What a compiled function calls is inlined without fail: left to itself, LLVM hands a cursor
# around in memory, which costs more than the algorithm.
_INLINED = {"forceinline": True}
# And unless it makes room for partials, it does not count references to arrays: that is atomic
# instructions, several a slide, for arrays that the caller holds anyway.
_UNMANAGED = {"forceinline": True, "_nrt": False}


@cache
def _part(function: Function, managed: bool) -> Function:
    """`function` to be inlined; small parts are bound again and again, and compiled once."""
    return _njit(function, **(_INLINED if managed else _UNMANAGED))


def _given(
    combine: Function,
    inverse: Function | None,
    layout: dict[str, Function],
    algorithm: ModuleType | None,
    counted: bool,
) -> dict[str, Function]:
    """Every name that is bound, to its source."""
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


def _bound(
    function: FunctionType, given: dict[str, Function], finish: Callable[[Function, bool], Function]
) -> FunctionType:
    """`function` under other globals: the given ones, and ours that it calls, themselves bound.

    `finish` is told whether a function makes room for partials.
    """
    names = {
        name: finish(
            _bound(part, given, finish) if _is_ours(part) else part, _makes_room(name, part, given)
        )
        for name, part in _called(function, given).items()
    }
    # Unchanged where it can be, so that it is compiled once for all who use it.
    return _copy(function, names) if names else function


def _copy(function: FunctionType, names: dict[str, Any] | None = None) -> FunctionType:
    """The same code under other globals."""
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


def _called(function: FunctionType, given: dict[str, Function]) -> dict[str, Any]:
    """The functions that `function` reaches by name and that have to be bound."""
    found = {name: given.get(name, function.__globals__.get(name)) for name in _names(function)}
    return {name: part for name, part in found.items() if name in given or _is_ours(part)}


def _makes_room(name: str, part: Any, given: dict[str, Function]) -> bool:
    """Whether a function allocates: `blank`, what uses numpy, and all that come to call one."""
    return name.endswith("blank") or (
        _is_ours(part)
        and (
            "np" in _names(part)
            or any(_makes_room(*called, given) for called in _called(part, given).items())
        )
    )


def _names(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_names


def _is_ours(part: Any) -> bool:
    """Whether a function is a technique's; a monoid's are left as they are."""
    return isinstance(part, FunctionType) and part.__module__.startswith(_TECHNIQUES)


def _is_closed(function: Function) -> bool:
    """Whether a function's code is all there is to it, so that a digest of it can stand for it."""
    return (
        isinstance(function, FunctionType)
        and function.__closure__ is None
        and function.__defaults__ is None
        and not any(name in function.__globals__ for name in function.__code__.co_names)
    )
