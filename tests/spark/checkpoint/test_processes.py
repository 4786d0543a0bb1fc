"""Whether a process runs, by its number and its start time."""

import json
import os
import subprocess
import sys

import pytest

from muntin.errors import RunError
from muntin.spark.checkpoint import checkpoint_owner

linux = pytest.mark.skipif(sys.platform != "linux", reason="start times are read from /proc")


@linux
def test_a_process_that_has_the_number_of_a_dead_one_is_another():
    mine = checkpoint_owner.start_time(os.getpid())
    assert checkpoint_owner.is_alive(os.getpid(), mine) is True
    assert checkpoint_owner.is_alive(os.getpid(), mine - 100) is False


def test_a_number_that_nobody_has_is_a_process_that_ended():
    assert checkpoint_owner.is_alive(2**22 - 3, 0.0) is False
    assert checkpoint_owner.is_alive(2**80, 0.0) is False


@linux
def test_a_killed_process_is_gone_before_its_parent_notices():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = checkpoint_owner.start_time(child.pid)
        assert checkpoint_owner.is_alive(child.pid, started) is True
        child.kill()
        # The child stays in the table of processes until its parent waits for it.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert checkpoint_owner.is_alive(child.pid, started) is False
    finally:
        child.stdin.close()
        child.wait()


@linux
def test_a_name_with_brackets_and_spaces_does_not_hide_the_start_time(tmp_path):
    odd = tmp_path / "a) S (b"
    odd.symlink_to("/bin/sleep")
    child = subprocess.Popen([str(odd), "60"])
    try:
        assert (
            abs(checkpoint_owner.start_time(child.pid) - checkpoint_owner.start_time(os.getpid()))
            < 3600 * 24
        )
        assert checkpoint_owner.is_alive(child.pid, checkpoint_owner.start_time(child.pid)) is True
    finally:
        child.kill()
        child.wait()


def test_without_start_times_a_living_number_proves_nothing(monkeypatch):
    monkeypatch.setattr(checkpoint_owner, "_boot_time", lambda: None)
    assert checkpoint_owner.start_time(os.getpid()) is None
    assert checkpoint_owner.is_alive(os.getpid(), None) is None
    assert checkpoint_owner.is_alive(2**22 - 3, None) is False


class Files:
    """A folder in memory, whose owner's file may be renewed between two reads."""

    def __init__(self, owner, *, renews):
        self._owner, self._renews, self._reads = owner, renews, 0

    def has(self, name):
        return True

    def read(self, name):
        self._reads += self._renews
        return json.dumps({**self._owner, "renewed": self._reads})


def owner_of(files):
    return checkpoint_owner.CheckpointOwner(files, "c", is_active=None, on_loss=None)


def test_an_owner_that_the_system_does_not_know_is_judged_by_its_file(monkeypatch):
    monkeypatch.setattr(checkpoint_owner, "_SILENT_S", 0.6)
    mine = json.loads(owner_of(None)._text())
    # The parent lives, but nothing tells whether it is the process that wrote the file.
    other = {**mine, "pid": os.getppid(), "started": None}
    owner_of(Files(other, renews=False)).refuse_if_owned()
    with pytest.raises(RunError, match=r"in use by process \d+ on .*: stop it there first"):
        owner_of(Files(other, renews=True)).refuse_if_owned()


@linux
def test_an_owner_that_lives_is_refused_and_a_dead_one_is_not():
    mine = json.loads(owner_of(None)._text())
    parent = {**mine, "pid": os.getppid(), "started": checkpoint_owner.start_time(os.getppid())}
    with pytest.raises(RunError, match="stop it first"):
        owner_of(Files(parent, renews=False)).refuse_if_owned()
    owner_of(Files({**parent, "started": 0.0}, renews=False)).refuse_if_owned()
    owner_of(Files({**parent, "pid": 2**22 - 3}, renews=False)).refuse_if_owned()
