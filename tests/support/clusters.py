"""A standalone cluster of Spark's on this machine: a master, and workers that come and go."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from tests.support.session import ROOT

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
# Of master and workers; an executor takes what the application asks for.
DAEMON_MEMORY = "128m"


class Cluster:
    """A context manager: all processes end with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = _free_port()
        self._processes: list[subprocess.Popen] = []
        self._workers: list[subprocess.Popen] = []

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> "Cluster":
        master = ["org.apache.spark.deploy.master.Master", "--port", str(self._port)]
        self._launch("master", *master)
        patience = time.monotonic() + 120
        while not _listens(self._port):
            assert time.monotonic() < patience, (self._folder / "master.log").read_text()[-2000:]
            time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            _kill(process)

    def join(self) -> None:
        """One more worker, of one core."""
        name = f"worker{len(self._workers)}"
        worker = ["org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "700m"]
        place = ["--work-dir", str(self._folder / name), self.url]
        self._workers.append(self._launch(name, *worker, *place))

    def kill(self, number: int) -> None:
        """Ends a worker, its executor and the executor's Python workers, as if by a power cut."""
        _kill(self._workers[number])

    def _launch(self, name: str, *command: str) -> subprocess.Popen:
        with (self._folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [str(SPARK_CLASS), *command, "--host", "127.0.0.1", "--webui-port", "0"],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={
                    **os.environ,
                    "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "PYTHONPATH": str(ROOT),
                    "PYSPARK_PYTHON": sys.executable,
                },
                start_new_session=True,
            )
        self._processes.append(process)
        return process


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
