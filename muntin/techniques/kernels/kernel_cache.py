"""Stores machine code on disk, for all copies of the package that a user has on a machine.

numba stores machine code next to the source, so each new copy or environment compiles everything
again. Here a kernel's file is named by a digest of everything that determines its machine code: the
code of the function and of all functions that it calls, the constants they read, the types, the
processor, and the versions of Python, numba and numpy. A change of any of these gives another name,
so no file is ever stale. Every kernel has its own file, so that processes can write at the same
time. If several processes need the same kernel, one compiles it, and the others wait for its
file.
"""

import fcntl
import hashlib
import logging
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
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

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
# No more bytes of kernels than these go into an archive, before it is compressed.
_MOST_PACKED = 1 << 25
# A process that compiles a kernel is waited for no longer than this.
_WAIT_S, _LOOK_S = 60.0, 0.02
# Compiling that takes longer than this is logged, once in a process.
_SILENT_S = 1.0
_VERSIONS = (sys.version, numba.__version__, np.__version__)
# The bits of a folder's mode by which its group and all others may write.
_OTHERS_WRITE = 0o022
_LOG = logging.getLogger("muntin")
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
        # The files that this process has locked, while it compiles.
        self._locks: list[tuple[Path, int]] = []

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
        parts = _read(path)
        if parts is None:
            self._lock(path)
            parts = _read(path)
        return None if parts is None else _rebuild(target_context, *parts)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes the machine code of a signature, unless it contains addresses."""
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        path = self._path(sig, data.codegen)
        _drop_old(self._folder)
        _write(path, _dumps(data._reduce()))

    def with_lock(self, compile_signature: Callable[..., Any]) -> Callable[..., Any]:
        """Returns numba's function that loads or compiles a signature, followed by unlocking it."""

        def compile_locked(sig: Any) -> Any:
            begin = time.monotonic()
            try:
                return compile_signature(sig)
            finally:
                if self._locks:
                    self._unlock()
                    _log_time(time.monotonic() - begin, self._folder)

        return compile_locked

    def enable(self) -> None:
        """Reads and writes from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither reads nor writes from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Does nothing: no entry is ever stale."""

    def _lock(self, path: Path) -> None:
        """Waits until no other process compiles this kernel, and makes others wait for this one."""
        lock = path.with_suffix(".lock")
        try:
            handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError:
            return
        self._locks.append((lock, handle))
        until = time.monotonic() + _WAIT_S
        while time.monotonic() < until:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK_S)
            except OSError:
                # Some network folders have no locks.
                return
            else:
                return

    def _unlock(self) -> None:
        """Lets other processes continue. They have the lock file open, so it can be deleted."""
        while self._locks:
            lock, handle = self._locks.pop()
            lock.unlink(missing_ok=True)
            os.close(handle)

    def _path(self, sig: Any, codegen: Any) -> Path:
        whole = repr((self._sources, _VERSIONS, sig, codegen.magic_tuple()))
        return self._folder / f"{self._name}-{hashlib.sha256(whole.encode()).hexdigest()}.kernel"


def digest(function: Callable[..., Any]) -> str:
    """Returns a digest of the code and constants that determine a function's machine code, without
    types and versions."""
    return hashlib.sha256(repr(_sources(function, ())).encode()).hexdigest()


def is_constant(value: Any) -> bool:
    """Whether the text of a value identifies it."""
    return type(value) in _PLAIN or isinstance(value, np.generic)


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
    """Returns a code object and all code objects nested in it."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [code, *(deeper for part in inner for deeper in _codes(part))]


def _shape(code: CodeType) -> list[Any]:
    """Returns what a code object does, without its place in a file."""
    constants = [repr(part) for part in code.co_consts if not isinstance(part, CodeType)]
    return [code.co_code, code.co_argcount, code.co_flags, code.co_names, constants]


def stored_kernels() -> list[Path]:
    """Returns the files of all kernels that this user has on this machine, latest used first."""
    try:
        files = [(path.stat().st_mtime, path) for path in _folder().glob("*.kernel")]
    except OSError:
        return []
    return [path for _, path in sorted(files, reverse=True)]


def pack_kernels(archive: Path) -> bool:
    """Writes the kernels of this machine, those used last, to a file; False if there are none."""
    size = 0
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=1) as packed:
        for path in stored_kernels():
            try:
                data = path.read_bytes()
            except OSError:
                # Another process has deleted it.
                continue
            size += len(data)
            if size > _MOST_PACKED:
                break
            packed.writestr(path.name, data)
        return bool(packed.namelist())


def unpack_kernels(archive: Path) -> None:
    """Stores the kernels of an archive of `pack_kernels` that this machine does not have.

    Kernels of another processor or version are never loaded, since their names differ.
    """
    try:
        folder = _folder()
        with ZipFile(archive) as packed:
            for name in packed.namelist():
                if not (folder / name).exists():
                    _write(folder / name, packed.read(name))
    except (OSError, BadZipFile) as error:
        _LOG.warning("kernels are compiled here, since the driver's cannot be stored: %s", error)


def _write(path: Path, data: bytes) -> None:
    """Replaces a file as a whole, since other processes may read it."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(unfinished, path)


def _read(path: Path) -> Any:
    """Returns the content of a file of machine code; None if it is missing or damaged, or names a
    class that this version of the package does not have."""
    try:
        parts = pickle.loads(path.read_bytes())
        os.utime(path)
    except (OSError, EOFError, pickle.UnpicklingError, ImportError, AttributeError):
        return None
    return parts


_compiling_s = 0.0


def _log_time(seconds: float, folder: Path) -> None:
    """Log, once in a process, that its kernels take more than a second to compile."""
    global _compiling_s
    before, _compiling_s = _compiling_s, _compiling_s + seconds
    if before <= _SILENT_S < _compiling_s:
        _LOG.warning(
            "compiling kernels for their first use on this machine, which takes some seconds; "
            "the machine code is kept in %s",
            folder,
        )


@cache
def _folder() -> Path:
    """Returns the folder of kernels: in numba's folder if one is set, else in the user's cache.

    If neither is writable, as on some executors, it is in the machine's temporary folder. A folder
    that other users can write to is not used: loading a kernel runs what is in its file.
    """
    config: Any = numba.config
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    temporary = Path(tempfile.gettempdir(), f"muntin-kernels-{os.getuid()}")
    for place in (Path(config.CACHE_DIR or home, "muntin"), temporary):
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
            status = place.stat()
        except (OSError, RuntimeError):
            continue
        if status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE:
            return place
        _LOG.warning(
            "%s is not used for compiled kernels, since other users can write to it: "
            "make it yours alone (chmod 700), or set NUMBA_CACHE_DIR to a folder that is",
            place,
        )
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
