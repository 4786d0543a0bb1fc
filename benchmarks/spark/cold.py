"""`cold`: what the first queries of a new process cost, without and with compiled kernels."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.harness.report import Report, make_table
from benchmarks.spark.cold_process import RUNS
from muntin.demo import dashboard_file, dashboard_queries, machine_readings
from muntin.errors import RunError
from muntin.measure.events import store
from muntin.measure.progress import Steps

EVENTS = 100_000
_PROCESS = "benchmarks.spark.cold_process"
# Queries of the demo's dashboard, by the name in the table.
_WORKLOADS = {
    "two queries": ["peak", "shift"],
    "ten queries": [query.name for query in dashboard_queries()],
}
# What each process runs. The first of muntin's finds no compiled kernels; the second finds those
# that the first has compiled.
_PROCESSES = {
    "plain Spark": "plain",
    "muntin, no kernels yet": "muntin",
    "muntin, kernels on disk": "muntin",
}


@dataclass(frozen=True, kw_only=True)
class ColdReport(Report):
    """CPU seconds by workload, process and run; `session` is what the start of Spark cost."""

    cpu_s: Mapping[str, Mapping[str, Mapping[str, float]]]
    repeats: int

    def tables(self) -> list[Table]:
        """Returns a row for each run of each process, and a column for each workload."""
        start = min(costs["session"] for each in self.cpu_s.values() for costs in each.values())
        rows = (
            [
                f"{process}: {run} run",
                *(f"{each[process][run]:.1f}" for each in self.cpu_s.values()),
            ]
            for process in _PROCESSES
            for run in RUNS
        )
        title = "CPU seconds of the first runs of a new process"
        note = (
            f"driver, JVM and Python workers, from when Spark has started, which takes "
            f"{start:.1f}; best of {self.repeats}"
        )
        return [make_table(title, ["", *(f">{name}" for name in self.cpu_s)], rows, note)]


def cold_starts(session: SparkSession, *, events: int = EVENTS, repeats: int = 3) -> ColdReport:
    """Starts processes that answer queries over the same events; the cheapest of each counts.

    A process before them does not count: it leaves Python's bytecode, and files in memory.
    """
    with TemporaryDirectory(prefix="muntin-cold-") as folder:
        path = Path(folder, "events")
        store(machine_readings(session, events), path)
        costs: dict[str, dict[str, dict[str, float]]] = {}
        with Steps(1 + repeats * len(_WORKLOADS) * len(_PROCESSES)) as bar:
            with bar.step("a process that does not count"):
                _run("muntin", _WORKLOADS["ten queries"], path, Path(folder, "unmeasured"))
            for repeat in range(repeats):
                for workload, names in _WORKLOADS.items():
                    measured = costs.setdefault(workload, {})
                    kernels = Path(folder, f"kernels {workload} {repeat}")
                    for process, side in _PROCESSES.items():
                        with bar.step(f"{workload}: {process}"):
                            found = _run(side, names, path, kernels)
                        before = measured.get(process, found)
                        measured[process] = {k: min(found[k], before[k]) for k in found}
    return ColdReport(cpu_s=costs, repeats=repeats)


def _run(side: str, names: list[str], events: Path, kernels: Path) -> dict[str, float]:
    """Returns the figures of a new process, which keeps compiled kernels in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", _PROCESS, side, ",".join(names), dashboard_file(), events],
        env={**os.environ, "NUMBA_CACHE_DIR": str(kernels), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RunError(f"a process that answers queries as {side} has failed: {done.stderr}")
    return dict(json.loads(done.stdout))
