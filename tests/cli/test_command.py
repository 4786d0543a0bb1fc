"""What holds for the command itself: help, version, completion."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import muntin
from muntin.cli import main
from muntin.measure import processes


def test_a_shell_completes_verbs_and_strategies():
    def completed(*words):
        told = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        completing = {"_MUNTIN_COMPLETE": "complete_bash", **told}
        command = [sys.executable, "-m", "muntin"]
        run = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **completing}
        )
        return run.stdout.split()

    assert completed("muntin", "ex") == ["explain"]
    assert completed("muntin", "explain", "--strategy", "we") == ["weave"]


@pytest.mark.parametrize("verb", [[], ["explain"], ["run"], ["stream"], ["demo"]])
def test_help_teaches_by_examples(verb, capsys):
    assert main([*verb, "--help"]) == 0
    assert f"muntin {' '.join(verb)}".strip() in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"muntin {muntin.__version__}\n"


def test_the_version_is_written_once():
    project = tomllib.loads((Path(muntin.__file__).parents[1] / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    attribute = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "muntin.__version__"


@pytest.mark.parametrize("verb", [["demo"], ["calibrate"]])
def test_what_measures_says_at_once_that_psutil_is_missing(verb, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(processes, "psutil", None)
    assert "pip install 'muntin[bench]'" in refused(*verb)
    assert list(tmp_path.iterdir()) == []
