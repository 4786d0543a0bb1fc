"""Who runs on a checkpoint: one pipeline at a time.

checkpoint/_owner.json    the host, the process and when it started, and a number that is renewed

A start is refused while the owner lives. On the same host the operating system knows whether it
does, so a start right after a crash goes on at once. Of another host, and where the system cannot
tell, only the file is known: the owner renews it every ten seconds, and an owner that does not for
thirty seconds is taken to be gone. No two clocks are compared. An owner that finds another name in
the file stops.
"""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JJavaError

from muntin.errors import RunError
from muntin.spark.folder import Folder
from muntin.spark.java_errors import FILE_ERRORS, said_by_java
from muntin.spark.process import is_alive, start_time

log = logging.getLogger("muntin")

OWNER = "_owner.json"
_RENEWED_EVERY_S = 10.0
_SILENT_S = 30.0
# Two starts in one moment may both find nobody; each looks again after this time.
_LOOKS_AGAIN_S = 0.2
# How long the end of a stream may take to be noticed in this process.
_NOTICED_S = 5.0
# The owners in this process, by the mark in their files.
_HERE: dict[str, "CheckpointOwner"] = {}


class CheckpointOwner:
    """Holds a checkpoint for one pipeline, from `acquire` to `release`."""

    def __init__(
        self,
        folder: Folder,
        directory: str,
        *,
        is_active: Callable[[], bool],
        on_loss: Callable[[RunError], None],
    ) -> None:
        """`is_active` is whether the pipeline runs; `on_loss` stops it."""
        self._folder = folder
        self._directory = directory
        self._is_active = is_active
        self._on_loss = on_loss
        self._token = uuid4().hex
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._count = 0
        self._renewed = 0.0
        # What the file said of an owner that turned out to be gone.
        self._silent: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._released = threading.Event()

    def refuse_if_owned(self) -> None:
        """Refuse a checkpoint on which a pipeline runs; writes nothing."""
        found = self._read()
        if found is not None and found != self._silent:
            self._refuse_if_alive(found)
            self._silent = found

    def acquire(self) -> None:
        """Become the owner, or refuse; then renew it until it is released."""
        self.refuse_if_owned()
        try:
            self._folder.write(OWNER, self._text())
        except Py4JJavaError as error:
            raise RunError(
                f"the checkpoint {self._directory} cannot be written: {said_by_java(error)}"
            ) from None
        time.sleep(_LOOKS_AGAIN_S)
        found = self._read()
        if found is None or found.get("token") != self._token:
            raise self._refusal(found or {}, "it was started at the same moment")
        self._renewed = time.monotonic()
        _HERE[self._token] = self
        threading.Thread(target=self._keep_renewing, daemon=True).start()

    def release(self) -> None:
        """Give the checkpoint free, if it is still held."""
        with self._lock:
            self.forget()
            if self._released.is_set():
                return
            self._released.set()
            with suppress(Py4JError, RunError):
                found = self._read()
                if found is not None and found.get("token") == self._token:
                    self._folder.delete(OWNER)

    def forget(self) -> None:
        """Hold it no more in this process, where its file cannot be reached."""
        _HERE.pop(self._token, None)

    def check(self) -> None:
        """Called before a batch is written: raises if another has taken the checkpoint."""
        if time.monotonic() - self._renewed > 1.5 * _RENEWED_EVERY_S:
            self._renew()

    def _keep_renewing(self) -> None:
        while not self._released.wait(_RENEWED_EVERY_S) and self._token in _HERE:
            try:
                self._renew()
            except RunError as error:
                self.forget()
                self._on_loss(error)
                return
            except (Py4JError, OSError) as error:
                # A file system that is away for a while: tried again, and before the next batch.
                log.warning("the owner of %s was not renewed: %s", self._directory, error)

    def _renew(self) -> None:
        with self._lock:
            if self._released.is_set():
                return
            found = self._read()
            if found is None or found.get("token") != self._token:
                who = "its owner's file was deleted" if found is None else _who(found)
                raise RunError(
                    f"the checkpoint {self._directory} is no longer held by this pipeline: {who}; "
                    f"this pipeline has stopped"
                )
            self._count += 1
            # In place: at no moment there may be no file.
            self._folder.put(OWNER, self._text())
            self._renewed = time.monotonic()

    def _refuse_if_alive(self, found: dict[str, Any]) -> None:
        if found.get("host") == _host():
            holder = _HERE.get(found["token"])
            if holder is not None:
                if not holder._is_active():
                    holder._released.wait(_NOTICED_S)
                if not holder._released.is_set():
                    raise self._refusal(found, "stop that pipeline first, or change its queries")
                return
            if found["pid"] == os.getpid():
                return
            is_running = is_alive(found["pid"], found["started"])
            if is_running:
                raise self._refusal(found, "stop it first")
            if is_running is False:
                return
        patience = time.monotonic() + _SILENT_S
        log.info("%s: waiting whether its owner, %s, is alive", self._directory, _who(found))
        while time.monotonic() < patience:
            time.sleep(0.5)
            now = self._read()
            if now is None:
                return
            if now != found:
                raise self._refusal(
                    now,
                    f"stop it there first; a start takes over when that process has been silent "
                    f"for {_SILENT_S:.0f} seconds, or delete {self._directory}/{OWNER}, and that "
                    f"pipeline stops",
                )

    def _refusal(self, found: dict[str, Any], what: str) -> RunError:
        return RunError(f"the checkpoint {self._directory} is in use by {_who(found)}: {what}")

    def _read(self) -> dict[str, Any] | None:
        """What the file says: none where there is none, nothing known where it is cut short."""
        for _ in range(3):
            if not self._folder.has(OWNER):
                return None
            try:
                found = json.loads(self._folder.read(OWNER))
                found["token"], found["started"]
                return {**found, "pid": int(found["pid"])}
            except FILE_ERRORS:
                # It may be written in this moment.
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
    """This host; processes of another container have numbers of their own."""
    with suppress(OSError):
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def _who(found: dict[str, Any]) -> str:
    if not found:
        return "a process that is not known"
    host = str(found.get("host", "?")).split(" ")[0]
    return f"process {found.get('pid')} on {host} since {found.get('since')}"
