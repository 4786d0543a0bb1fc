import numpy as np

from muntin.bench import udw
from muntin.bench.techniques import Target
from muntin.model.kinds import CountWindow


def test_a_way_counts_what_it_combines_and_stores(monkeypatch):
    monkeypatch.setattr(udw, "_ROWS_AT_ONCE", 700)
    energy = np.ones(2000)
    marks = udw._count_marks([CountWindow(400, 100), CountWindow(250, 50)], 2000)
    ours = next(way for way in udw.WAYS if way.name == udw.OURS)
    found = udw._measured("periodic", ours, energy, marks)
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


def test_the_report_has_tables_and_json():
    figure = udw.Figure(
        windows="periodic",
        way=udw.OURS,
        queries=1,
        combines=5,
        folds=3,
        stored=2,
        beyond=0,
        per_second=1e6,
    )
    target = Target(name="stored slices beyond live windows", found=0, most=1)
    report = udw.Report(records=10, figures=[figure], targets=[target])
    assert [table.title for table in report.tables()] == ["periodic, 10 records", "targets"]
    assert report.to_json()["targets"][0]["met"] is True
