"""Asks the operating system whether a process of this host still runs."""

import os
import sys
from pathlib import Path

# Start times are known to a hundredth of a second, and the time of the boot to a second.
_SAME_START_S = 5.0
_GONE = {"Z", "X", "x"}


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
    if fields is not None and fields[0] in _GONE:
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
