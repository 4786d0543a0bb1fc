import numpy as np

from benchmarks.papers import udw, udw_runtime
from benchmarks.papers.udw import OURS, WAYS, WayFigures, make_figures, make_targets
from muntin.model.data_windows import CountWindow


def test_a_way_counts_what_it_combines_and_stores(monkeypatch):
    monkeypatch.setattr(udw, "_ROWS_AT_ONCE", 700)
    energy = np.ones(2000)
    marks = udw._count_marks([CountWindow(400, 100), CountWindow(250, 50)], 2000)
    ours = next(way for way in WAYS if way.name == OURS)
    found = udw._measure(ours, energy, marks)
    # A slice every 50 records; all records of a slice but its first are folded into it.
    assert found.folds == 2000 - 2000 // 50
    assert found.stored <= 4 + 5 + 1
    assert found.beyond <= 1
    # 17 and 36 windows end; each takes up to two combines, and slices take some, too.
    assert 40 <= found.combines <= 53 * 3 + 40 * 4
    assert found.per_second > 0


def test_naive_combines_every_window_from_its_records():
    found = udw._naive([CountWindow(100, 50)], np.ones(300))
    assert (found.combines, found.stored) == (5 * 99, 100)


def test_sessions_run_from_flip_to_flip(monkeypatch):
    monkeypatch.setattr(udw, "_ROWS_AT_ONCE", 10)
    marks = udw._session_marks(np.array([3, 5, 14]), 20)
    assert [one.begins.tolist() for one in marks] == [[3, 5], [4]]
    assert [one.reads.tolist() for one in marks] == [[5], [4]]


def test_figures_have_a_line_for_each_way():
    measured = WayFigures(combines=5, folds=3, stored=2, beyond=0, per_second=1e6)
    figures = make_figures({("periodic", OURS, 1): measured}, 10)
    assert [figure.table().title.split(": ", 1)[1] for figure in figures] == [
        "periodic, 10 records: combines",
        "periodic, 10 records: partials stored",
        "periodic, 10 records: partials beyond open windows",
        "periodic, 10 records: records per second",
    ]
    assert figures[0].lines == {OURS: [(1, 5)]}


def test_targets_name_both_readings():
    found = {
        ("periodic", way.name, 100): WayFigures(
            combines=1000 * (number + 1), folds=0, stored=0, beyond=number, per_second=1.0
        )
        for number, way in enumerate(WAYS)
    }
    targets = {one.name: one for one in make_targets(found, 100, 2e6)}
    assert targets["combines, Cutty / Pairs with the paper's eager store"].found == 7 / 2
    assert targets["the same, the paper's eager store for both"].found == 6 / 2
    assert targets["stored slices beyond live windows, Cutty"].found == 6
    assert [one.name for one in targets.values() if one.met] == [
        "records a second, whole runtime, all built-in kinds"
    ]


def test_the_whole_runtime_has_queries_of_all_built_in_kinds():
    kinds = udw_runtime.windows(100)
    assert len(set(kinds)) == 100
    assert {type(kind).__name__ for kind in kinds} == {
        "Session",
        "CountWindow",
        "Punctuation",
        "Delta",
        "Landmark",
        "Threshold",
    }
    assert udw_runtime.per_second(5_000, 14) > 0
