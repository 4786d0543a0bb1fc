"""The bench of techniques: one quick measurement of each kind, and what it says of them."""

import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks.harness.targets import Target
from benchmarks.papers import techniques as bench
from benchmarks.papers.technique_figures import draw
from benchmarks.papers.techniques import Latency, Many, Memory, Report, Single
from muntin.model.aggregates.monoids import MAX
from muntin.techniques.table import TECHNIQUES

REPORT = Report(
    single=[
        Single(technique=name, aggregate="max", size=size, ns=size + 1.0)
        for name in ("panes", "flat_fit")
        for size in (1, 4)
    ],
    many=[
        Many(technique="flat_fit", aggregate="max", data="random", queries=q, per_second=1e6 / q)
        for q in (1, 10)
    ],
    latency=[
        Latency(technique="daba", aggregate="max", size=8, p50=10, p999=20, p9999=30, worst=1234.0)
    ],
    memory=[Memory(technique="daba", size=size, bytes=16 * size) for size in (1, 8)],
    targets=[Target(name="a / b", found=2.5, most=2), Target(name="c / d", found=21, least=20)],
)


def test_a_figure_of_each_kind():
    technique = TECHNIQUES["two_stacks_lite"]
    assert 0 < bench._single(technique, MAX, 64) < 10_000
    slick = TECHNIQUES["slick_deque"]
    assert bench._many(slick, MAX, "descending", 10, repeats=2) > 1000
    found = bench._latency(technique, 256, repeats=3)
    assert found.p50 <= found.p999 <= found.p9999 <= found.worst
    # Front and back in one ring of 256 floats, a cursor of five.
    assert bench._memory(technique, 256).bytes == 256 * 8 + 5 * 8


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
    assert [line.split("│")[4].strip() for line in text.splitlines() if " / " in line] == [
        "NO",
        "yes",
    ]


def test_a_report_is_json():
    found = json.loads(json.dumps(REPORT.to_json()))
    assert [target["met"] for target in found["targets"]] == [False, True]
    assert found["single"][0] == {"technique": "panes", "aggregate": "max", "size": 1, "ns": 2.0}
    assert found["machine"]["cores"] >= 1


def test_four_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    paths = draw(REPORT, tmp_path / "pictures")
    assert [path.name for path in paths] == [f"figure_{number}.png" for number in (11, 12, 13, 14)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
