"""`cold`: its processes answer queries twice, and the cheapest of each kind counts."""

import json

import pytest
from rich.console import Console

from benchmarks.spark import cold
from benchmarks.spark.cold_process import main
from muntin.demo import dashboard_file, machine_readings


@pytest.mark.parametrize("side", ["plain", "muntin"])
def test_a_process_prints_what_its_runs_cost(side, spark, tmp_path, capsys):
    events = str(tmp_path / "events")
    machine_readings(spark, 500).write.parquet(events)
    main(side, ["peak", "shift"], dashboard_file(), events)
    costs = json.loads(capsys.readouterr().out)
    assert list(costs) == ["session", "first", "second"]
    assert all(cost >= 0 for cost in costs.values())


def test_the_table_has_the_cheapest_run_of_each_process(spark, monkeypatch):
    folders = []

    def run(side, names, events, kernels):
        folders.append(kernels.name)
        first = len(names) + {"plain": 1.0, "muntin": 10.0 / folders.count(kernels.name)}[side]
        return {"session": 5.0, "first": first + len(set(folders)), "second": 0.5}

    monkeypatch.setattr(cold, "_run", run)
    report = cold.cold_starts(spark, events=10, repeats=2)
    # Each repeat of each workload begins without kernels: plain Spark, then muntin twice.
    assert [folders.count(name) for name in dict.fromkeys(folders)] == [1, 3, 3, 3, 3]
    two, ten = report.cpu_s["two queries"], report.cpu_s["ten queries"]
    assert two["plain Spark"]["first"] == 2 + 1 + 2
    assert two["muntin, no kernels yet"]["first"] > two["muntin, kernels on disk"]["first"]
    assert ten["plain Spark"]["first"] == 10 + 1 + 3
    console = Console(width=80, record=True)
    console.print(*report.tables())
    said = console.export_text()
    assert "muntin, kernels on disk: second run" in said
    assert "which takes 5.0; best of 2" in " ".join(said.split())
    assert report.to_json()["repeats"] == 2
