"""The bench of techniques: one quick measurement of each kind, and what it says of them."""

import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks.harness.report import Experiment, Target
from benchmarks.papers import techniques as bench
from muntin.aggregates.monoids import MAX
from muntin.techniques.table import TECHNIQUES

REPORT = Experiment(
    figures=[
        bench._figure("11", "max", bench.SLICES, "ns", {"panes": [(1, 2.0), (4, 5.0)]}),
        bench._figure("12", "many", "windows", "slides", {"flat_fit": [(1, 1e6), (10, 1e5)]}),
        bench._figure("13", "memory", bench.SLICES, "bytes", {"daba": [(1, 16), (8, 128)]}),
        bench._figure("14", "latency", "percentile", "ns", {"daba": [(50, 10), (100, 1234.0)]}),
    ],
    targets=[Target(name="a / b", found=2.5, most=2), Target(name="c / d", found=21, least=20)],
)


def test_a_figure_of_each_kind():
    technique = TECHNIQUES["two_stacks_lite"]
    assert 0 < bench._single(technique, MAX, 64) < 10_000
    slick = TECHNIQUES["slick_deque"]
    assert bench._many(slick, MAX, "descending", 10, repeats=2) > 1000
    tail = bench._latency(technique, 256, repeats=3)
    assert [percentile for percentile, _ in tail] == [50, 99.9, 99.99, 100]
    assert [ns for _, ns in tail] == sorted(ns for _, ns in tail)
    # Front and back in one ring of 256 floats, a cursor of five.
    assert bench._memory(technique, 256) == 256 * 8 + 5 * 8


@pytest.mark.parametrize("kind", ["ascending", "descending"])
def test_streams_go_on_where_they_stopped(kind):
    both = np.concatenate([bench._data(kind, 0, 5), bench._data(kind, 5, 3)])
    assert both.tolist() == bench._data(kind, 0, 8).tolist()


def test_a_report_says_what_was_missed():
    console = Console(width=100)
    with console.capture() as captured:
        console.print(*REPORT.tables())
    text = captured.get()
    assert "1,234" in text
    assert [line.split()[-1] for line in text.splitlines() if " / " in line] == ["NO", "yes"]


def test_a_report_is_json():
    found = json.loads(json.dumps(REPORT.to_json()))
    assert [target["met"] for target in found["targets"]] == [False, True]
    assert found["figures"][0]["lines"] == {"panes": [[1, 2.0], [4, 5.0]]}
    assert found["machine"]["cores"] >= 1


def test_four_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    paths = REPORT.draw(tmp_path / "pictures")
    names = [f"figure_{number}.png" for number in (11, 12, 13, 14)]
    assert [path.name for path in paths] == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
