"""The scripts and the notebook of `examples/` run, and show what they are there to show."""

import json
import runpy
from pathlib import Path

import pytest

from tests.support.notebooks import code_cells, run_cell

EXAMPLES = Path(__file__).parent.parent / "examples"
SAID = {
    "batch.py": ["3 of 3 queries share", "hot|", "mean|", "steady|"],
    "data_windows.py": ["drives", "rows", "distance", "stretches", "hours", "|car-1|"],
    "streaming.py": ["360 rows in, 0 late", "  mean: ", "hot: "],
}


@pytest.fixture
def session(spark):
    """The session, whose settings an example may change."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_a_script_runs(script, session, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # Files that an example makes for itself go with the test's.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    runpy.run_path(str(script), run_name="__main__")
    said = capsys.readouterr().out
    for words in SAID[script.name]:
        assert words in said, said


def test_the_notebook_runs_and_shows_what_is_saved_in_it(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text())
    assert notebook["nbformat"] == 4
    names = {"__name__": "__main__"}
    pictures = 0
    for cell in code_cells(notebook):
        outputs = run_cell("".join(cell["source"]), names)
        kinds = [output["output_type"] for output in outputs]
        assert kinds == [output["output_type"] for output in cell["outputs"]]
        for saved, output in zip(cell["outputs"], outputs, strict=True):
            assert saved.get("text") == output.get("text")
            for kind, shown in output.get("data", {}).items():
                is_picture = "<svg" in "".join(shown)
                # Tables of pandas are drawn by its version.
                if is_picture or kind == "text/plain":
                    assert shown == saved["data"][kind], "run `make notebook`"
                pictures += is_picture
    assert pictures >= 2
