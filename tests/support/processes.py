"""Pipelines in processes of their own, to be killed."""

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

from tests.support.session import ROOT


def launch(
    script: str, folder: Path, *arguments: str, stderr: Path | None = None
) -> subprocess.Popen:
    """Runs a script in a new process; it gets the folder, in which it is written, and arguments."""
    file = folder / "pipeline.py"
    file.write_text(textwrap.dedent(script))
    with Path(stderr or os.devnull).open("w") as errors:
        return subprocess.Popen(
            [sys.executable, str(file), str(folder), *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            # Its JVM and its Python workers die with it: all are one group.
            start_new_session=True,
        )


def kill(process: subprocess.Popen) -> None:
    """Kills the process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
