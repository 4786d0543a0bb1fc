"""Keeps machine code on disk by what it was compiled from, for every copy of the package.

numba keeps machine code beside the source, so each new copy or environment compiles everything
again. Here a kernel's file is named by a digest of all that decides its machine code: the code of
the function and of all it calls, the constants they read, the types, the processor, and the
versions of Python, numba and numpy. A change of any of them gives another name, so no file is ever
stale. Every kernel has a file of its own, so that processes can write at the same time.
"""

import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

# numba does not annotate these.
_rebuild: Callable[..., Any] = CompileResult._rebuild
_dumps: Callable[..., bytes] = dumps
# A kernel that was not loaded for this long is deleted.
_KEPT_S = 90 * 86_400
_VERSIONS = (sys.version, numba.__version__, np.__version__)
# Types of constants whose `repr` identifies them.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class NoDigest(Exception):
    """The machine code depends on a value that has no digest."""


class KernelCache(_Cache):
    """The machine code of one function, a file for each signature, as a cache of numba."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Raises `NoDigest` if a function cannot be cached, `OSError` if no folder is writable."""
        self._sources = digest(function)
        self._name = function.__name__
        self._folder = _folder()
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder of all kernels."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the machine code of a signature, or None if it is not there."""
        if not self._enabled:
            return None
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        try:
            parts = pickle.loads(path.read_bytes())
            os.utime(path)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return _rebuild(target_context, *parts)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes the machine code of a signature, unless it contains addresses."""
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        path = self._path(sig, data.codegen)
        _drop_old(self._folder)
        # The file is replaced as a whole, since other processes may read it.
        handle, unfinished = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb") as file:
            file.write(_dumps(data._reduce()))
        os.replace(unfinished, path)

    def enable(self) -> None:
        """Reads and writes from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither reads nor writes from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Does nothing: no entry is ever stale."""

    def _path(self, sig: Any, codegen: Any) -> Path:
        whole = repr((self._sources, _VERSIONS, sig, codegen.magic_tuple()))
        return self._folder / f"{self._name}-{hashlib.sha256(whole.encode()).hexdigest()}.kernel"


def digest(function: Callable[..., Any]) -> str:
    """Returns a digest of all that decides a function's machine code, but types and versions."""
    return hashlib.sha256(repr(_sources(function, ())).encode()).hexdigest()


def is_constant(value: Any) -> bool:
    """Whether the text of a value identifies it."""
    return type(value) in _PLAIN


def _sources(function: Any, callers: tuple[CodeType, ...]) -> list[Any]:
    """Returns the code of a function, and the value of each name that it reads."""
    code = function.__code__
    names = sorted({name for part in _codes(code) for name in part.co_names})
    read = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        read[f"free {name}"] = cell.cell_contents
    return [
        (function.__module__, function.__qualname__, _value(function.__defaults__, ())),
        [_shape(part) for part in _codes(code)],
        [(name, _value(value, (*callers, code))) for name, value in read.items()],
    ]


def _value(value: Any, callers: tuple[CodeType, ...]) -> Any:
    """Returns what identifies a value: its text, or its sources if it is a function."""
    if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        return (sorted(value.targetoptions.items()), _value(value.py_func, callers))
    if isinstance(value, FunctionType):
        # A recursive function is identified by its code alone.
        return "itself" if value.__code__ in callers else _sources(value, callers)
    if isinstance(value, tuple):
        return [_value(part, callers) for part in value]
    if is_constant(value):
        return repr(value)
    if isinstance(value, ModuleType) and not value.__name__.startswith("muntin"):
        return value.__name__
    if isinstance(value, type | BuiltinFunctionType):
        return (value.__module__, value.__qualname__)
    raise NoDigest(f"{value!r} of {type(value)}")


def _codes(code: CodeType) -> list[CodeType]:
    """Returns a code object and all those nested in it."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [code, *(deeper for part in inner for deeper in _codes(part))]


def _shape(code: CodeType) -> list[Any]:
    """Returns what a code object does, without its place in a file."""
    constants = [repr(part) for part in code.co_consts if not isinstance(part, CodeType)]
    return [code.co_code, code.co_argcount, code.co_flags, code.co_names, constants]


@cache
def _folder() -> Path:
    """Returns the folder of kernels: in numba's folder if one is set, else in the user's cache.

    If neither is writable, as on some executors, it is in the machine's temporary folder.
    """
    config: Any = numba.config
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    temporary = Path(tempfile.gettempdir(), f"muntin-kernels-{os.getuid()}")
    for place in (Path(config.CACHE_DIR or home, "muntin"), temporary):
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
        except (OSError, RuntimeError):
            continue
        # Anyone can make a folder there, and loading a kernel runs what is in its file.
        if place != temporary or place.stat().st_uid == os.getuid():
            return place
    raise OSError("no folder for compiled kernels is writable")


@cache
def _drop_old(folder: Path) -> None:
    """Deletes kernels that were not loaded for long; once per process."""
    oldest = time.time() - _KEPT_S
    for path in folder.iterdir():
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            # Another process has deleted it.
            continue
