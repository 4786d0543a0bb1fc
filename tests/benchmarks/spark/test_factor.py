"""The bench of factor windows: settings of the paper, one small run, and its report."""

import json

import pytest
from rich.console import Console

from benchmarks.papers.factor_settings import SETTINGS, USUAL, read_settings
from benchmarks.spark.factor import _compute_hash, run_factor
from benchmarks.spark.factor_report import FactorReport, Run, Side, join_reports, read_reports
from muntin.errors import RunError


def side(cpu_s, rows=10, hashes=7):
    return Side(cpu_s=cpu_s, wall_s=cpu_s, rows=rows, hashes=hashes)


def made_run(number, plain, plan, predicted, **more):
    return Run(
        setting="S-20-tumbling",
        number=number,
        windows=["4 s"],
        sides={
            "plain": side(plain),
            "coverage": side(plan * 2),
            "factor": side(plan, **more),
            "auto": side(plan),
        },
        scan_cpu_s=0.5,
        slices_cpu_s=2.0,
        predicted={"coverage": predicted / 2, "factor": predicted, "auto": predicted},
    )


REPORT = FactorReport(
    runs=[made_run(0, 30, 3, 11), made_run(1, 40, 2, 21), made_run(2, 50, 5, 10, rows=9)],
    events=100,
    repeats=1,
)


def test_settings_are_those_of_both_tables():
    assert len(SETTINGS) == 16
    assert len(USUAL) == 8
    assert SETTINGS["S-20-tumbling"].factor.mean == 14.28
    for setting in SETTINGS.values():
        windows = setting.windows(3)
        assert windows == setting.windows(3)
        assert len(set(windows)) == setting.count
        assert all(window.is_tumbling == setting.tumbling for window in windows)


def test_an_unknown_setting_is_refused_with_the_nearest():
    with pytest.raises(RunError, match="did you mean 'S-5-hopping'"):
        read_settings("S-5-hoping")


@pytest.mark.slow
def test_plain_and_plans_give_the_same_answers(spark):
    (report,) = run_factor(spark, ["R-5-hopping"], events=1_000, sets=1, repeats=1)
    (run,) = report.runs
    assert run.equal
    assert run.sides["plain"].rows == run.sides["factor"].rows > 0
    assert len(run.windows) == 5
    assert run.predicted["factor"] > 0
    assert (
        json.loads(json.dumps(report.to_json()))["settings"]["R-5-hopping"]["paper"]["count"] == 5
    )


def test_one_wrong_answer_changes_the_hash_and_their_order_does_not(spark):
    rows = "VALUES ('q0', 'd', named_struct('start', 0, 'end', 1), {}D), ('q1', 'd', NULL, 2D)"
    frame = f"SELECT * FROM {rows} AS t(query, device, window, low)"
    right = spark.sql(frame.format(1.5))
    assert _compute_hash(right) == _compute_hash(right.orderBy("low"))
    assert _compute_hash(right) == (2, _compute_hash(right)[1])
    assert _compute_hash(right)[1] != _compute_hash(spark.sql(frame.format(1.5000001)))[1]


def test_the_report_has_boosts_bounds_and_the_correlation():
    assert REPORT.boost("S-20-tumbling", "factor").most == 20
    assert [run.equal for run in REPORT.runs] == [True, True, False]
    assert REPORT.pearson() == pytest.approx(1, abs=0.01)
    parts = REPORT.parts("S-20-tumbling")
    assert parts == {"scan": 0.5, "slices": 1.5, "answers": pytest.approx(4 / 3)}
    console = Console(width=80)
    with console.capture() as captured:
        console.print(*REPORT.tables())
    lines = [line.split() for line in captured.get().splitlines() if "S-20" in line]
    assert lines[0][-1] == "NO"
    assert lines[1][-1] == "slices"
    assert "14.3 16.8" in captured.get()


def test_two_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    paths = REPORT.draw(tmp_path)
    assert [path.name for path in paths] == ["factor_boost.png", "factor_predicted.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_sequential_sets_take_turns_with_their_seeds():
    setting = SETTINGS["S-5-tumbling"]
    assert {setting.windows(number)[0].size for number in range(3)} == {
        4_000_000,
        10_000_000,
        20_000_000,
    }


def test_pieces_make_one_report(tmp_path):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, runs in zip(paths, (REPORT.runs[:1], REPORT.runs[1:]), strict=True):
        piece = FactorReport(runs=runs, events=100, repeats=1)
        path.write_text(json.dumps(piece.to_json()))
    assert join_reports(read_reports(paths)) == REPORT
    with pytest.raises(RunError, match="100, 200 events do not go into one table"):
        join_reports([REPORT, FactorReport(runs=[], events=200, repeats=1)])
    paths[0].write_text("{}")
    with pytest.raises(RunError, match="is not what `python -m benchmarks factor --json` writes"):
        read_reports(paths)
