"""Ctrl-C at any moment: a line, the exit code 130, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

# Moments of a start are met by waiting, which a busy machine makes a matter of luck: `make slow`.
pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
CSV = "ts,device,temp\n2024-01-01 00:00:01,a,1.5\n"
# Spark would count these pairs for hours.
ENDLESS = """
-- name: endless
SELECT count(*) AS n FROM readings CROSS JOIN range(100000) a CROSS JOIN range(100000000) b
WHERE a.id * b.id % 7 = temp
"""


@pytest.fixture
def start(tmp_path):
    """Starts `muntin run` on a query without end; what still runs at the end is killed."""
    (tmp_path / "q.sql").write_text(ENDLESS)
    (tmp_path / "readings.csv").write_text(CSV)
    started = []

    def launch():
        command = [sys.executable, "-m", "muntin", "run", "q.sql", "--input", "readings.csv"]
        started.append(
            subprocess.Popen(
                [*command, "--output", "out"],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield launch
    for one in started:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def interrupted(process):
    """Send Ctrl-C; gives what the command then says."""
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in error
    assert "Exception" not in error
    return error


# While libraries load, while the JVM starts, and while Spark starts in it.
@pytest.mark.parametrize("after", [0.5, 2.0, 4.0])
def test_ctrl_c_while_it_starts(start, tmp_path, after):
    process = start()
    time.sleep(after)
    assert interrupted(process) in ("", "muntin: stopped\n")
    until = time.monotonic() + 30
    while (left := processes_in(tmp_path)) and time.monotonic() < until:
        time.sleep(0.2)
    assert left == []


def processes_in(folder):
    """The names of processes that were started in a folder."""
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["cwd"] == str(folder):
            found.append(process.info["name"])
    return found


def test_ctrl_c_during_a_job(start, tmp_path):
    process = start()
    until = time.monotonic() + 120
    # The folder that answers are written to before they are moved into place.
    while not list(tmp_path.glob("out/.muntin-*")) and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)
    time.sleep(1.0)
    begin = time.monotonic()
    assert interrupted(process) == "muntin: stopped\n"
    assert time.monotonic() - begin < 15
    assert list(tmp_path.glob("out/*")) == list(tmp_path.glob("out/.muntin-*")) == []
