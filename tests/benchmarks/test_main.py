"""The command `python -m benchmarks`."""

import json

import pytest

from benchmarks.__main__ import bench
from muntin.cli import run_command
from muntin.measure import processes


def run(*arguments):
    return run_command(bench, "python -m benchmarks", arguments)


def test_sharing_prints_a_table_and_writes_json(spark, tmp_path, capsys):
    file = tmp_path / "figures.json"
    sizes = ["--sets", "one", "--events", "1000", "--keys", "3", "--repeats", "1"]
    assert run("sharing", *sizes, "--json", str(file)) == 0
    one = json.loads(file.read_text())["sets"]["one"]
    assert one["equal"] is True
    assert set(one["plain"]) == set(one["muntin"]) == {"cpu_s", "wall_s", "rows", "times"}
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[-1] for row in rows if row[:1] == ["one"]] == ["yes"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sharing", "--sets", "dash1"], "did you mean 'dash10'?"),
        (["sharing", "--json", "/nonexistent/x.json"], "there is no folder"),
    ],
)
def test_a_wrong_argument_is_refused_in_a_line(arguments, said, capsys):
    assert run(*arguments) == 2
    line = capsys.readouterr().err
    assert line.startswith("python -m benchmarks: ")
    assert said in line


@pytest.mark.parametrize("name", ["sharing", "memory"])
def test_without_psutil_nothing_starts(name, monkeypatch, capsys):
    monkeypatch.setattr(processes, "psutil", None)
    assert run(name) == 2
    assert "pip install 'muntin[bench]'" in capsys.readouterr().err
