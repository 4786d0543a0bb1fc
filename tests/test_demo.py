import shlex
from itertools import pairwise

import pytest
from rich.console import Console

from muntin.api.batch import plan
from muntin.cli import main
from muntin.demo import (
    MACHINES,
    check_output,
    commands,
    dashboard_file,
    dashboard_queries,
    machine_readings,
    print_demo,
    run_demo,
    warm_up,
)
from muntin.errors import RunError
from muntin.measure.compare import _Sides


def test_the_ten_queries_share_one_tree():
    found = plan(dashboard_queries())
    assert len(found.queries) == 10
    assert len(found.trees) == 1
    assert dashboard_file().exists()


def test_readings_are_seeded_and_at_100_hertz(spark):
    rows = machine_readings(spark, 2000)
    assert rows.collect() == machine_readings(spark, 2000).collect()
    assert rows.select("machine").distinct().count() == MACHINES
    times = sorted(row.ts for row in rows.where("machine = 'machine-1'").collect())
    assert {(b - a).microseconds for a, b in pairwise(times)} == {10_000}


# The pages run the demo, too.
@pytest.mark.slow
def test_the_demo_compares_every_row_and_leaves_its_files(spark, tmp_path, capsys):
    output = tmp_path / "demo"
    demo = run_demo(spark, 500, output, repeats=1, warm_up_events=0)
    assert demo.comparison.equal
    rows = demo.comparison.rows
    assert len(rows) == 10
    assert all(counts.left for name, counts in rows.items() if name != "unsteady")
    assert (output / "plan.svg").read_text().startswith("<svg")
    for name in rows:
        assert (output / "muntin" / name).is_dir()
    print_demo(demo, Console(width=80))
    said = capsys.readouterr().out
    assert "500 readings of 5 machines" in said
    assert "…" not in said.split("try next")[0].split("the queries")[0]
    assert "muntin run" in said
    flat = " ".join(said.split())
    # Why the ratio that was measured is not the one that is estimated.
    assert "muntin's first run over all readings took" in flat
    assert "leaves out fixed costs" in flat
    # What it prints works as printed.
    explain, again, _ = (shlex.split(one)[1:] for one in commands(demo))
    assert main(explain) == main(again) == 0
    assert (output / "again" / "power").is_dir()
    # A second demo may use the folder of the first.
    check_output(output)


def test_warming_up_answers_both_ways_and_leaves_nothing(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = dashboard_queries()[:1]
    folders = []

    def watch(side):
        write = getattr(_Sides, side)

        def run(self):
            cost = write(self)
            folders.extend(path.relative_to(self._folder) for path in self._folder.glob("*/*"))
            return cost

        return run

    for side in ("run_plain", "run_muntin"):
        monkeypatch.setattr(_Sides, side, watch(side))
    warm_up(machine_readings(spark, 500), asked)
    assert {str(folder) for folder in folders} == {
        f"plain Spark/{asked[0].name}",
        f"muntin/{asked[0].name}",
    }
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match="is not empty"):
        check_output(tmp_path)
    with pytest.raises(RunError, match="is not a folder"):
        check_output(tmp_path / "mine.txt")
