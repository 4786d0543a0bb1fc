"""Machine code is found by what it was compiled from: anywhere, and never when that has changed."""

import importlib
import os
import pkgutil
import subprocess
import sys
import time
from types import ModuleType

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

import muntin.runtime
import muntin.techniques
from muntin.techniques.kernels import compile as compile_module
from muntin.techniques.kernels import kernel_cache
from muntin.techniques.kernels.kernel_cache import NoDigest, digest
from tests.support.session import ROOT

SOURCE = """
import numpy as np
from numba import njit

STEP = 1
SHIFTS = (1, 2.5)


def inner(value, more=3):
    return value + STEP + SHIFTS[0] + more


inner = njit(inner, forceinline=False)


def outer(values):
    total = 0.0
    for value in values:
        total += inner(value)
    return total
"""


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_cache, "_folder", lambda: tmp_path)
    kernel_cache._drop_old.cache_clear()
    return tmp_path


def outer(source=SOURCE, path="here.py"):
    """The function of a module with this source, which stands in this file."""
    module = ModuleType("muntin_module")
    exec(compile(source, path, "exec"), module.__dict__)
    return module.outer


def kernels(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_elsewhere_loads_what_the_first_has_compiled(folder):
    values = np.array([1.0, 2.0])
    first, second = (
        compile_module.compile_kernel(outer(path=path)) for path in ("a/x.py", "b/y.py")
    )
    assert first(values) == 13.0
    assert sum(first._cache_misses.values()) == 1
    (name,) = kernels(folder)
    assert name.startswith("outer-")
    assert second(values) == 13.0
    assert (sum(second._cache_hits.values()), sum(second._cache_misses.values())) == (1, 0)
    # Another type is another kernel.
    assert second(np.array([1, 2])) == 13.0
    assert len(kernels(folder)) == 2


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("STEP = 1", "STEP = 2"),
        ("STEP = 1", "STEP = 1.0"),
        ("SHIFTS = (1, 2.5)", "SHIFTS = (2, 2.5)"),
        ("more=3", "more=4"),
        ("value + STEP", "value - STEP"),
        ("total = 0.0", "total = -0.0"),
        ("total += inner", "total -= inner"),
        ("forceinline=False", "forceinline=True"),
        ("import numpy as np", "import math as inner_module; STEP = inner_module"),
    ],
)
def test_whatever_changes_the_machine_code_changes_the_digest(here, there):
    assert here in SOURCE
    changed = SOURCE.replace(here, there)
    if "inner_module" in there:
        changed = changed.replace("STEP = 1\n", "")
    assert digest(outer(changed)) != digest(outer())


def test_scalars_of_numpy_are_in_the_digest():
    one, other, wider = (
        digest(outer(SOURCE.replace("STEP = 1", f"STEP = np.{text}")))
        for text in ("uint32(1)", "uint32(2)", "uint64(1)")
    )
    assert len({one, other, wider}) == 3


def test_every_kernel_of_the_package_has_a_digest():
    """Otherwise its machine code is next to the source, and an upgrade finds that of old types."""
    found = 0
    for package in (muntin.runtime, muntin.techniques):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module.name:
                    found += 1
                    assert digest(value.py_func), name
    assert found > 50


def test_what_does_not_change_it_does_not():
    assert digest(outer("# A comment.\n\n" + SOURCE)) == digest(outer(path="elsewhere.py"))


def test_a_changed_function_gives_its_own_answer(folder):
    values = np.array([1.0, 2.0])
    assert compile_module.compile_kernel(outer())(values) == 13.0
    assert (
        compile_module.compile_kernel(outer(SOURCE.replace("STEP = 1", "STEP = 2")))(values) == 15.0
    )
    assert len(kernels(folder)) == 2


@pytest.mark.parametrize("value", ["np.zeros(2)", "[1]", "{}", "object()"])
def test_what_has_no_text_has_no_digest(value):
    with pytest.raises(NoDigest):
        digest(outer(SOURCE.replace("STEP = 1", f"STEP = {value}")))


def test_what_a_closure_holds_is_in_the_digest():
    def shifted(shift):
        return lambda value: value + shift

    assert digest(shifted(1)) == digest(shifted(1))
    assert digest(shifted(1)) != digest(shifted(2))


def test_a_function_that_calls_itself_has_a_digest():
    source = "def outer(n):\n    return 1 if n < 2 else n * outer(n - 1)\n"
    assert digest(outer(source)) == digest(outer(source))
    assert digest(outer(source)) != digest(outer(source.replace("n * ", "n + ")))


def test_a_damaged_file_is_compiled_again(folder):
    values = np.array([1.0, 2.0])
    compile_module.compile_kernel(outer())(values)
    (name,) = kernels(folder)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    assert compile_module.compile_kernel(outer())(values) == 13.0
    assert kernels(folder) == [name]
    again = compile_module.compile_kernel(outer())
    again(values)
    assert sum(again._cache_hits.values()) == 1


def test_a_file_that_names_a_module_which_is_gone_is_compiled_again(folder):
    values = np.array([1.0, 2.0])
    compile_module.compile_kernel(outer())(values)
    (name,) = kernels(folder)
    (folder / name).write_bytes(b"cmuntin.gone\nName\n.")
    assert compile_module.compile_kernel(outer())(values) == 13.0


def test_what_nobody_loads_is_deleted_in_the_end(folder):
    old, young = folder / "old.kernel", folder / "young.kernel"
    for path, age in ((old, 100), (young, 10)):
        path.touch()
        os.utime(path, (time.time() - age * 86_400,) * 2)
    compile_module.compile_kernel(outer())(np.array([1.0]))
    assert not old.exists()
    assert young.exists()


def test_without_a_folder_it_is_compiled_all_the_same(monkeypatch):
    def none():
        raise OSError("read-only")

    monkeypatch.setattr(kernel_cache, "_folder", none)
    assert compile_module.compile_kernel(outer())(np.array([1.0])) == 6.0


COMPILE = """
import sys
import numpy as np
from muntin.techniques.kernels.compile import compile_kernel

def total(values):
    sum = 0.0
    for value in values:
        sum += value
    return sum

kernel = compile_kernel(total)
kernel(np.zeros(3))
print(sum(kernel._cache_hits.values()), sum(kernel._cache_misses.values()))
"""


def test_of_processes_that_need_a_kernel_at_once_one_compiles_it(tmp_path):
    (tmp_path / "script.py").write_text(COMPILE)
    # Each is a hit or a miss, whichever of them is first to lock the file.
    processes = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "script.py")],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        )
        for _ in range(3)
    ]
    counts = [process.communicate()[0].split() for process in processes]
    assert sorted(counts) == [["0", "1"], ["1", "0"], ["1", "0"]]
    assert {path.suffix for path in (tmp_path / "muntin").iterdir()} == {".kernel"}


def test_a_kernel_that_does_not_compile_is_unlocked(folder):
    wrong = compile_module.compile_kernel(outer("def outer(value):\n    return value.nothing\n"))
    with pytest.raises(TypingError):
        wrong(1.0)
    assert kernels(folder) == []


def test_one_that_is_locked_for_long_is_compiled_all_the_same(folder, monkeypatch):
    monkeypatch.setattr(kernel_cache, "_WAIT_S", 0.05)
    first, second = (compile_module.compile_kernel(outer()) for _ in range(2))
    unlock, first._cache._unlock = first._cache._unlock, lambda: None
    first(np.array([1.0]))
    for path in folder.glob("*.kernel"):
        path.unlink()
    assert second(np.array([1.0])) == 6.0
    assert sum(second._cache_misses.values()) == 1
    unlock()


def test_compiling_is_logged_once_when_it_takes_more_than_a_second(folder, monkeypatch, caplog):
    monkeypatch.setattr(kernel_cache, "_compiling_s", 0.0)
    monkeypatch.setattr(kernel_cache, "_SILENT_S", 0.0)
    for step in range(2):
        compile_module.compile_kernel(outer(SOURCE.replace("STEP = 1", f"STEP = {step}")))(
            np.array([1.0])
        )
    (record,) = caplog.records
    assert record.getMessage().startswith("compiling kernels")
    assert str(folder) in record.getMessage()
    caplog.clear()
    monkeypatch.setattr(kernel_cache, "_compiling_s", 0.0)
    compile_module.compile_kernel(outer())(np.array([1.0]))
    assert not caplog.records


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(mode, monkeypatch, tmp_path, caplog):
    own, temporary = tmp_path / "own", tmp_path / "temporary"
    for path in (own, temporary, own / "muntin"):
        path.mkdir()
    (own / "muntin").chmod(mode)
    monkeypatch.setattr(kernel_cache.numba.config, "CACHE_DIR", str(own))
    monkeypatch.setattr(kernel_cache.tempfile, "gettempdir", lambda: str(temporary))
    folder = kernel_cache._folder.__wrapped__
    private = temporary / f"muntin-kernels-{os.getuid()}"
    assert folder() == private
    assert f"{own / 'muntin'} is not used" in caplog.text
    private.chmod(mode)
    with pytest.raises(OSError, match="no folder"):
        folder()


def test_a_temporary_folder_of_somebody_else_is_not_used(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setattr(kernel_cache.numba.config, "CACHE_DIR", str(blocked))
    monkeypatch.setattr(kernel_cache.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = kernel_cache._folder.__wrapped__
    assert folder() == tmp_path / f"muntin-kernels-{os.getuid()}"
    stranger = os.getuid() + 1
    monkeypatch.setattr(kernel_cache.os, "getuid", lambda: stranger)
    with pytest.raises(OSError, match="no folder"):
        folder()


def test_kernels_go_to_another_machine_which_keeps_its_own(monkeypatch, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, kernels in ((here, ("a", "b", "c")), (there, ("b", "d"))):
        folder.mkdir()
        for name in kernels:
            (folder / f"{name}.kernel").write_text(f"{folder.name} {name}")
    os.utime(here / "c.kernel", (0, 0))
    monkeypatch.setattr(kernel_cache, "_MOST_PACKED", 12)
    monkeypatch.setattr(kernel_cache, "_folder", lambda: here)
    assert kernel_cache.pack_kernels(tmp_path / "archive")
    monkeypatch.setattr(kernel_cache, "_folder", lambda: there)
    kernel_cache.unpack_kernels(tmp_path / "archive")
    # The kernel that was not used for long is not sent: there is no room.
    texts = {path.name: path.read_text() for path in there.iterdir()}
    assert texts == {"a.kernel": "here a", "b.kernel": "there b", "d.kernel": "there d"}


def test_a_machine_without_kernels_has_none_to_send(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_cache, "_folder", lambda: tmp_path)
    assert not kernel_cache.pack_kernels(tmp_path / "archive")


def test_kernels_that_cannot_be_unpacked_are_compiled(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(kernel_cache, "_folder", lambda: tmp_path)
    (tmp_path / "archive").write_text("no archive")
    kernel_cache.unpack_kernels(tmp_path / "archive")
    assert "kernels are compiled here" in caplog.text
