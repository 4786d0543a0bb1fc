"""Machine code on disk, found by what it was compiled from: it serves every copy of the package.

numba keeps machine code beside the source, so each new copy or environment compiles everything
again. Here a kernel's file is named by a digest of all that decides its machine code: the code of
the function and of all it calls, the constants they read, the types, the processor, and the
versions of Python, numba and numpy. A change of any of them is another name: nothing stale is
ever found. Every kernel has a file of its own, so that processes can write at once.
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

# Their own annotations are missing.
_rebuild: Callable[..., Any] = CompileResult._rebuild
_dumps: Callable[..., bytes] = dumps
# A kernel that nobody has loaded for so long is deleted.
_KEPT_S = 90 * 86_400
_VERSIONS = (sys.version, numba.__version__, np.__version__)
# Constants that machine code holds, and whose text tells them apart.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class NoDigest(Exception):
    """Machine code depends on something that cannot be told by a text."""


class KernelCache(_Cache):
    """The machine code of one function, a file for each signature; what numba asks of a cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Raises `NoDigest` for a function that must not be kept, `OSError` without a folder."""
        self._sources = digest(function)
        self._name = function.__name__
        self._folder = _folder()
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder of all kernels."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the machine code of a signature, or none if it is not there."""
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
        """Writes the machine code of a signature; one that holds addresses is left out."""
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        path = self._path(sig, data.codegen)
        _drop_old(self._folder)
        # Whole or not at all, for others read while this writes.
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
        """Forgets nothing: no entry is ever stale."""

    def _path(self, sig: Any, codegen: Any) -> Path:
        whole = repr((self._sources, _VERSIONS, sig, codegen.magic_tuple()))
        return self._folder / f"{self._name}-{hashlib.sha256(whole.encode()).hexdigest()}.kernel"


def digest(function: Callable[..., Any]) -> str:
    """All that decides the machine code of a function but types and versions, as a short text."""
    return hashlib.sha256(repr(_sources(function, ())).encode()).hexdigest()


def _sources(function: Any, callers: tuple[CodeType, ...]) -> list[Any]:
    """The code of a function, and what stands behind each name that it reads."""
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
    """A value that code reads: its text, or its own sources if it is a function of ours."""
    if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        return (sorted(value.targetoptions.items()), _value(value.py_func, callers))
    if isinstance(value, FunctionType):
        # Whoever calls itself is told by its code alone.
        return "itself" if value.__code__ in callers else _sources(value, callers)
    if isinstance(value, tuple):
        return [_value(part, callers) for part in value]
    if type(value) in _PLAIN:
        return repr(value)
    if isinstance(value, ModuleType) and not value.__name__.startswith("muntin"):
        return value.__name__
    if isinstance(value, type | BuiltinFunctionType):
        return (value.__module__, value.__qualname__)
    raise NoDigest(f"{value!r} of {type(value)}")


def _codes(code: CodeType) -> list[CodeType]:
    """A code and all that stand inside it."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [code, *(deeper for part in inner for deeper in _codes(part))]


def _shape(code: CodeType) -> list[Any]:
    """What a code does, and not where it stands."""
    constants = [repr(part) for part in code.co_consts if not isinstance(part, CodeType)]
    return [code.co_code, code.co_argcount, code.co_flags, code.co_names, constants]


@cache
def _folder() -> Path:
    """Where kernels are kept: in numba's folder if one is set, else in the user's cache.

    Where neither is writable, as on some executors, the machine's temporary folder will do.
    """
    config: Any = numba.config
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    places = [
        Path(config.CACHE_DIR or home, "muntin"),
        Path(tempfile.gettempdir(), f"muntin-kernels-{os.getuid()}"),
    ]
    for place in places:
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
        except (OSError, RuntimeError):
            continue
        return place
    raise OSError("no folder for compiled kernels is writable")


@cache
def _drop_old(folder: Path) -> None:
    """Deletes what has not been loaded for long; once a process."""
    oldest = time.time() - _KEPT_S
    for path in folder.iterdir():
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            # Another process was faster.
            continue
