"""`muntin warmup` runs usual queries, so that their kernels are on disk."""

import os
import re

import pytest

from muntin.cli import main
from muntin.techniques.kernels import kernel_cache


@pytest.mark.long
def test_the_command_says_how_many_kernels_are_where(spark, capsys):
    assert main(["warmup"]) == 0
    folder = re.escape(str(kernel_cache._folder()))
    found = re.search(rf"(\d+) kernels are compiled, in {folder}", capsys.readouterr().out)
    # Other processes may have compiled more since.
    assert 0 < int(found[1]) <= len(kernel_cache.stored_kernels())


def test_kernels_are_listed_by_their_last_use(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_cache, "_folder", lambda: tmp_path)
    for name in ("a.kernel", "b.kernel", "c.lock"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "b.kernel", (0, 0))
    assert kernel_cache.stored_kernels() == [tmp_path / "a.kernel", tmp_path / "b.kernel"]
