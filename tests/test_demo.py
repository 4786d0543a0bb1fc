import shlex
from itertools import pairwise

import pytest
from rich.console import Console

from muntin.cli import main
from muntin.demo import side_by_side as side_by_side_module
from muntin.demo.machines import MACHINES, sensors
from muntin.demo.show import commands, show
from muntin.demo.side_by_side import check_output, dashboard, queries, side_by_side, warm_up
from muntin.errors import RunError
from muntin.spark.binding.planning import plan


def test_the_ten_queries_share_one_tree():
    found = plan(queries())
    assert len(found.queries) == 10
    assert len(found.trees) == 1
    assert dashboard().exists()


def test_readings_are_seeded_and_at_100_hertz(spark):
    rows = sensors(spark, 2000)
    assert rows.collect() == sensors(spark, 2000).collect()
    assert rows.select("machine").distinct().count() == MACHINES
    times = sorted(row.ts for row in rows.where("machine = 'machine-1'").collect())
    assert {(b - a).microseconds for a, b in pairwise(times)} == {10_000}


# The pages run the demo, too.
@pytest.mark.slow
def test_the_demo_compares_every_row_and_leaves_its_files(spark, tmp_path, capsys):
    output = tmp_path / "demo"
    demo = side_by_side(spark, 500, output, runs=1, warm_up_events=0)
    assert demo.equal
    assert all(answer.rows for name, answer in demo.answers.items() if name != "unsteady")
    assert (output / "plan.svg").read_text().startswith("<svg")
    for name in demo.answers:
        assert (output / "answers" / name).is_dir()
    show(demo, Console(width=80))
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
    asked = queries()[:1]
    both = []
    for side in ("_plain", "_muntin"):
        answer = getattr(side_by_side_module, side)

        def watched(data, what, folder, answer=answer):
            answer(data, what, folder)
            both.append(folder.name)
            assert (folder / asked[0].name).is_dir()

        monkeypatch.setattr(side_by_side_module, side, watched)
    warm_up(sensors(spark, 500), asked, plan(asked))
    assert both == ["plain", "answers"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match="is not empty"):
        check_output(tmp_path)
    with pytest.raises(RunError, match="is not a folder"):
        check_output(tmp_path / "mine.txt")
