"""Lets only one pipeline at a time run on a checkpoint.

checkpoint/_owner.json    the host, the process and when it started, and a number that is renewed

A start is refused while the owner is alive. On the same host the operating system knows that, so a
start right after a crash continues at once. On another host, or if the system does not know, only
the file shows it: the owner renews it every ten seconds, and counts as gone after thirty seconds
without. Clocks of two hosts are never compared. An owner that finds another name in the file stops.
"""

import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError

from muntin.errors import RunError
from muntin.spark.engine.folder import Folder
from muntin.spark.error_text import FILE_ERRORS, job_error_text

log = logging.getLogger("muntin")

OWNER = "_owner.json"
_RENEWED_EVERY_S = 10.0
_SILENT_S = 30.0
# Two starts at once may both find no owner, so each looks again after this time.
_LOOKS_AGAIN_S = 0.2
# How long a pipeline may take to notice the end of its query, and how often a start checks that.
_NOTICED_S = 5.0
_CHECKS_EVERY_S = 0.05
# The owners in this process, by the mark in their files.
_OWNERS: dict[str, "CheckpointOwner"] = {}

# Start times are known to a hundredth of a second, and the time of the boot to a second.
_SAME_START_S = 5.0
# States of a process that has ended.
_ENDED = {"Z", "X", "x"}


class Owner:
    """The owner of a checkpoint. This base class does nothing: on Spark Connect, Spark itself lets
    only one query run on a checkpoint."""

    def refuse_if_owned(self) -> None:
        """Raise `RunError` if a pipeline runs on the checkpoint; writes nothing."""

    def acquire(self) -> None:
        """Become the owner; raises `RunError` if another pipeline is."""

    def release(self) -> None:
        """Release the checkpoint, if this pipeline owns it."""

    def forget(self) -> None:
        """Stop holding the checkpoint in this process, without touching its file."""

    def check(self) -> None:
        """Raise an error if another pipeline has taken the checkpoint."""


class CheckpointOwner(Owner):
    """Holds a checkpoint for one pipeline, from `acquire` to `release`."""

    def __init__(
        self,
        folder: Folder,
        directory: str,
        *,
        is_active: Callable[[], bool],
        on_loss: Callable[[RunError], None],
    ) -> None:
        """`is_active` is whether Spark runs a query of the pipeline; `on_loss` stops it."""
        self._folder = folder
        self._directory = directory
        self._is_active = is_active
        self._on_loss = on_loss
        self._token = uuid4().hex
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._count = 0
        self._renewed = 0.0
        # The content of the file of an owner that turned out to be gone.
        self._silent: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._released = threading.Event()

    def refuse_if_owned(self) -> None:
        """Raise `RunError` if a pipeline runs on the checkpoint; writes nothing."""
        owner = self._read_owner()
        if owner is not None and owner != self._silent:
            self._refuse_if_alive(owner)
            self._silent = owner

    def acquire(self) -> None:
        """Become the owner, and renew the file until `release`; raises `RunError` if another is."""
        self.refuse_if_owned()
        try:
            self._folder.write(OWNER, self._text())
        except Py4JJavaError as error:
            raise RunError(
                f"the checkpoint {self._directory} cannot be written: {job_error_text(error)}"
            ) from None
        time.sleep(_LOOKS_AGAIN_S)
        owner = self._read_owner()
        if owner is None or owner.get("token") != self._token:
            raise self._refusal(owner or {}, "it was started at the same moment")
        self._renewed = time.monotonic()
        _OWNERS[self._token] = self
        threading.Thread(target=self._keep_renewing, daemon=True).start()

    def release(self) -> None:
        """Release the checkpoint, if it is still held."""
        with self._lock:
            self.forget()
            if self._released.is_set():
                return
            self._released.set()
            with suppress(Py4JError, RunError):
                owner = self._read_owner()
                if owner is not None and owner.get("token") == self._token:
                    self._folder.delete(OWNER)

    def forget(self) -> None:
        """Stop holding it in this process, without touching its file."""
        _OWNERS.pop(self._token, None)

    def check(self) -> None:
        """Raise an error if another pipeline has taken the checkpoint; called before each write."""
        if time.monotonic() - self._renewed > 1.5 * _RENEWED_EVERY_S:
            self._renew()

    def _keep_renewing(self) -> None:
        while not self._released.wait(_RENEWED_EVERY_S) and self._token in _OWNERS:
            try:
                self._renew()
            except RunError as error:
                self.forget()
                self._on_loss(error)
                return
            except (Py4JError, OSError) as error:
                # The file system may be away for a while: it is tried again, also before the next
                # batch.
                log.warning("the owner of %s was not renewed: %s", self._directory, error)

    def _renew(self) -> None:
        with self._lock:
            if self._released.is_set():
                return
            owner = self._read_owner()
            if owner is None or owner.get("token") != self._token:
                who = "its owner's file was deleted" if owner is None else _describe(owner)
                raise RunError(
                    f"the checkpoint {self._directory} is no longer held by this pipeline: {who}; "
                    f"this pipeline has stopped"
                )
            self._count += 1
            # Write in place: the file must be there at all times.
            self._folder.put(OWNER, self._text().encode())
            self._renewed = time.monotonic()

    def _refuse_if_alive(self, owner: dict[str, Any]) -> None:
        if owner.get("host") == _host():
            holder = _OWNERS.get(owner["token"])
            if holder is not None:
                if not holder._is_released_soon():
                    raise self._refusal(owner, "stop that pipeline first, or change its queries")
                return
            if owner["pid"] == os.getpid():
                return
            is_running = is_alive(owner["pid"], owner["started"])
            if is_running:
                raise self._refusal(owner, "stop it first")
            if is_running is False:
                return
        patience = time.monotonic() + _SILENT_S
        log.info("%s: waiting whether its owner, %s, is alive", self._directory, _describe(owner))
        while time.monotonic() < patience:
            time.sleep(0.5)
            now = self._read_owner()
            if now is None:
                return
            if now != owner:
                raise self._refusal(
                    now,
                    f"stop it there first; a start takes over when that process has been silent "
                    f"for {_SILENT_S:.0f} seconds, or delete {self._directory}/{OWNER}, and that "
                    f"pipeline stops",
                )

    def _is_released_soon(self) -> bool:
        """Wait until this owner releases the checkpoint, or its pipeline runs; returns whether it
        was released.

        While no query runs, the pipeline has ended and is about to notice that, or starts another
        query for other plans.
        """
        patience = time.monotonic() + _NOTICED_S
        while not self._is_active() and time.monotonic() < patience:
            if self._released.wait(_CHECKS_EVERY_S):
                break
        return self._released.is_set()

    def _refusal(self, owner: dict[str, Any], what: str) -> RunError:
        return RunError(f"the checkpoint {self._directory} is in use by {_describe(owner)}: {what}")

    def _read_owner(self) -> dict[str, Any] | None:
        """Returns the content of the file: None if there is none, {} if it is cut short."""
        for _ in range(3):
            if not self._folder.has(OWNER):
                return None
            try:
                owner = json.loads(self._folder.read(OWNER))
                owner["token"], owner["started"]
                return {**owner, "pid": int(owner["pid"])}
            except FILE_ERRORS:
                # The owner may be writing it right now.
                time.sleep(0.1)
        return {}

    def _text(self) -> str:
        return json.dumps(
            {
                "host": _host(),
                "pid": os.getpid(),
                "started": start_time(os.getpid()),
                "since": self._since,
                "token": self._token,
                "renewed": self._count,
            }
        )


def _host() -> str:
    """Returns this host and its process namespace: each container numbers its own processes."""
    with suppress(OSError):
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def _describe(owner: dict[str, Any]) -> str:
    if not owner:
        return "a process that is not known"
    host = str(owner.get("host", "?")).split(" ")[0]
    return f"process {owner.get('pid')} on {host} since {owner.get('since')}"


def start_time(pid: int) -> float | None:
    """Returns when a process started, in seconds since 1970; None without Linux's /proc."""
    fields = _stat(pid)
    booted = _boot_time()
    if fields is None or booted is None:
        return None
    # The 22nd field of the line, counted from the state, which is the third.
    return booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def is_alive(pid: int, started: float | None) -> bool | None:
    """Whether the process that had this number and start time runs; None if it cannot be known.

    The system reuses the number of a process that has ended, so the start time is compared, if it
    is known. Windows has no signal that only asks, so there the answer is None.
    """
    if sys.platform == "win32":
        return None
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    fields = _stat(pid)
    if fields is not None and fields[0] in _ENDED:
        return False
    now = start_time(pid)
    if now is None or started is None:
        return None
    return abs(now - started) < _SAME_START_S


def _stat(pid: int) -> list[str] | None:
    """Returns the fields of /proc/<pid>/stat from the state on; None if it cannot be read."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # Before them is the name, in brackets; it may contain spaces and brackets.
    return line[line.rindex(")") + 1 :].split()


def _boot_time() -> float | None:
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) for line in lines if line.startswith("btime ")), None)
