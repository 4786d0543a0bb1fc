import json
import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

import muntin
from benchmarks.harness.pictures import draw_lines
from benchmarks.harness.sets import (
    FEW_KEYS_FOR_PLAIN,
    PERIODIC,
    SETS,
    TOO_LONG_FOR_PLAIN,
    Scale,
    draw_teams,
    one_query_of,
    scale_of,
    ten_teams,
)
from benchmarks.spark import sharing as bench
from benchmarks.spark.sharing import plain_spark, read_sets, sharing
from benchmarks.spark.sharing_figure import draw_pairs
from benchmarks.spark.sharing_report import SetFigures, SharingReport, Side
from muntin.api.batch import run
from muntin.errors import RunError
from muntin.measure.events import readings, store
from tests.support.executed_plans import columns_read, scans


@pytest.fixture
def one_is_too_long(monkeypatch):
    monkeypatch.setattr(bench, "TOO_LONG_FOR_PLAIN", {"one"})


def test_sets_hold_what_their_names_say():
    assert {name: len(make()) for name, make in SETS.items()} == {
        "one": 1,
        "tumb5": 5,
        "slide3": 3,
        "dash10": 10,
        "mix100": 100,
        "teams10": 10,
        "teams100": 100,
        "sparse10": 10,
        "distinct1": 1,
        "distinct10": 10,
        "quantile1": 1,
        "quantile10": 10,
        "sketch1": 1,
        "sketch10": 10,
        "sess": 1,
        "sess10": 10,
    }
    mixed = SETS["mix100"]()
    assert [query.window for query in mixed] == [query.window for query in SETS["mix100"]()]
    assert {a.function for q in mixed for a in q.aggregates.values()} == {
        "min",
        "max",
        "avg",
        "sum",
        "count",
    }
    assert [q.window for q in SETS["sparse10"]()] == [q.window for q in SETS["dash10"]()]
    assert tuple(SETS)[: len(PERIODIC)] == PERIODIC
    assert set(SETS) >= TOO_LONG_FOR_PLAIN | FEW_KEYS_FOR_PLAIN
    assert [one_query_of(name) for name in ("dash10", "sess", "sess10", "distinct10")] == [
        "one",
        "sess",
        "sess",
        "distinct1",
    ]


def test_only_sparse10_has_events_of_its_own():
    usual = Scale(events=5_000_000, keys=100)
    own = {name: scale for name in SETS if (scale := scale_of(name, usual)) != usual}
    assert own == {"sparse10": Scale(events=2_000_000, keys=8_000)}
    assert scale_of("sparse10", Scale(events=1, keys=1)).events == 1


def test_an_unknown_set_is_refused_with_the_nearest():
    with pytest.raises(RunError, match="did you mean 'dash10'"):
        read_sets("one,dash1")


@pytest.mark.long
def test_both_contenders_are_measured_and_equal(spark, monkeypatch):
    five_queries = SETS["tumb5"]()
    monkeypatch.setitem(SETS, "tumb5", lambda: five_queries[:2])
    sets = ["tumb5", "sess"]
    report = sharing(spark, sets, events=450, keys=150, repeats=1, warm_up_turns=0)
    assert report.sets["sess"].equal
    assert report.sets["sess"].plain.rows > 120
    measured = report.sets["tumb5"]
    assert measured.equal
    assert measured.plain.rows == measured.muntin.rows > 0
    assert measured.plain.cpu_s > 0
    assert measured.equal_on == 450
    figures = json.loads(json.dumps(report.to_json()))
    assert set(figures["sets"]["tumb5"]["plain"]) == {"cpu_s", "wall_s", "rows", "times"}


@pytest.mark.slow
def test_teams_and_sparse_keys_are_measured_and_equal(spark, monkeypatch):
    # Queries without keys, with a filter, and with other keys; for sparse10 its events matter.
    monkeypatch.setitem(SETS, "teams10", lambda: ten_teams()[2:5])
    monkeypatch.setitem(SETS, "sparse10", SETS["one"])
    sets = ["one", "teams10", "sparse10"]
    report = sharing(spark, sets, events=600, keys=30, repeats=1, warm_up_turns=0)
    assert [measured.equal for measured in report.sets.values()] == [True] * 3
    assert [measured.equal_on for measured in report.sets.values()] == [600, 600, 240]
    for measured in report.sets.values():
        assert measured.plain.rows == measured.muntin.rows > 0
    assert report.sets["sparse10"].scale == Scale(events=240, keys=8_000)
    figures = json.loads(json.dumps(report.to_json()))["sets"]
    assert figures["sparse10"]["scale"] == {"events": 240, "keys": 8_000}
    plain_one = figures["one"]["plain"]["cpu_s"]
    ratio = figures["teams10"]["muntin"]["cpu_s"] / plain_one
    assert figures["teams10"]["muntin_by_plain_one"] == pytest.approx(ratio, abs=0.001)


@pytest.mark.slow
def test_the_answers_of_ten_teams_are_compared_by_all_keys(spark, tmp_path):
    # Over eight hours, so that windows fill and slide.
    events = store(readings(spark, 300, 30, rate=0.01), tmp_path / "events")
    queries = ten_teams()
    ours = run(queries, events).together().localCheckpoint()
    theirs = plain_spark(queries, events).localCheckpoint()
    assert bench.equal_answers(ours, theirs)
    assert not bench.equal_answers(ours.where("site IS NULL OR site <> 1"), theirs)


@pytest.fixture(scope="module")
def events(spark, tmp_path_factory):
    return store(readings(spark, 500, 20), tmp_path_factory.mktemp("bench") / "events")


def test_columns_that_a_set_does_not_use_are_not_read(events):
    queries = SETS["tumb5"]()
    used = {"ts", "device", "temp"}
    assert columns_read(plain_spark(queries, events)) == used
    assert columns_read(run(queries, events).together()) == used
    (alone,) = (query for query in SETS["teams10"]() if not query.key_expressions)
    assert columns_read(plain_spark([alone], events)) == {"ts"}
    assert columns_read(run([alone], events).together()) == {"ts"}


def test_plain_spark_scans_once_for_each_query(events):
    assert scans(plain_spark(SETS["teams10"]()[:4], events)) == 4


@pytest.mark.slow
def test_two_sets_too_long_for_plain_spark_are_compared_each_for_itself(spark, monkeypatch):
    monkeypatch.setattr(bench, "EQUAL_ON", 300)
    monkeypatch.setitem(SETS, "mix100", SETS["one"])
    monkeypatch.setitem(SETS, "teams100", lambda: draw_teams(4))
    sets = ["mix100", "teams100"]
    report = sharing(spark, sets, events=1000, keys=30, repeats=1, warm_up_turns=0)
    for measured in report.sets.values():
        assert (measured.plain, measured.equal, measured.equal_on) == (None, True, 300)


def test_plain_spark_runs_a_set_over_the_events_of_a_few_keys(spark, capsys, monkeypatch):
    ten_queries = SETS["sketch10"]()
    monkeypatch.setitem(SETS, "sketch10", lambda: ten_queries[:3])
    report = sharing(
        spark, ["sketch1", "sketch10"], events=800, keys=40, repeats=1, warm_up_turns=0
    )
    one, ten = report.sets["sketch1"], report.sets["sketch10"]
    assert one.equal
    assert (one.plain.times, one.equal_on) == (1, 800)
    assert ten.equal
    # Two of forty devices.
    assert ten.equal_on < 100
    assert ten.plain.times == pytest.approx(800 / ten.equal_on)
    assert ten.plain.rows < ten.muntin.rows
    Console(width=100).print(*report.tables())
    said = capsys.readouterr().out
    assert "+ sketch10: seconds of plain Spark over the events of a few keys, times " in said
    figures = report.to_json()["sets"]["sketch10"]
    assert figures["muntin_by_plain_one"] == pytest.approx(
        ten.muntin.cpu_s / one.plain.cpu_s, abs=0.001
    )


@pytest.mark.slow
def test_all_hundred_queries_of_teams_are_equal(spark, monkeypatch):
    # Over eleven hours.
    monkeypatch.setattr(bench, "RATE", 0.0125)
    report = sharing(spark, ["teams100"], events=500, keys=100, repeats=1, warm_up_turns=0)
    assert report.sets["teams100"].equal


def test_a_set_too_long_for_plain_spark_is_compared_on_fewer_events(
    spark, one_is_too_long, monkeypatch
):
    monkeypatch.setattr(bench, "EQUAL_ON", 500)
    report = sharing(spark, ["one"], events=3000, keys=3, repeats=1, warm_up_turns=0)
    measured = report.sets["one"]
    assert (measured.plain, measured.equal, measured.equal_on) == (None, True, 500)
    assert "plain" not in report.to_json()["sets"]["one"]


def test_a_wrong_answer_is_not_called_equal(spark, monkeypatch):
    # One event of plain Spark's is a degree colder than muntin's.
    def wrong(queries, events):
        colder = "CASE WHEN ts = (SELECT min(ts) FROM events) THEN temp - 1 ELSE temp END AS temp"
        events.createOrReplaceTempView("events")
        return plain_spark(
            queries, events.sparkSession.sql(f"SELECT ts, device, {colder} FROM events")
        )

    monkeypatch.setattr(bench, "plain_spark", wrong)
    report = sharing(spark, ["one"], events=200, keys=1, repeats=1, warm_up_turns=0)
    assert not report.sets["one"].equal


def test_the_few_events_take_as_long_as_the_many(spark):
    spans = [
        readings(spark, events, 3, rate).selectExpr("max(ts) - min(ts) AS span").first()["span"]
        for events, rate in ((10_000, 50.0), (100, 0.5))
    ]
    assert abs(spans[0] - spans[1]).total_seconds() < 8


def test_the_table_has_the_ratios(capsys):
    from rich.console import Console

    side = Side(cpu_s=2.0, wall_s=1.0, rows=12_345_678)
    dear = Side(cpu_s=290.0, wall_s=145.0, rows=12_345_678)
    half = Side(cpu_s=1.0, wall_s=1.0, rows=1)
    report = SharingReport(
        sets={
            "one": SetFigures(plain=side, muntin=side, equal=True, equal_on=100),
            "dash10": SetFigures(plain=dear, muntin=side, equal=False, equal_on=100),
            "teams100": SetFigures(plain=None, muntin=side, equal=True, equal_on=10),
            "sparse10": SetFigures(
                plain=dear,
                muntin=Side(cpu_s=3.0, wall_s=1.0, rows=7),
                equal=True,
                equal_on=40,
                scale=Scale(events=40, keys=8_000),
            ),
            "sess": SetFigures(plain=half, muntin=half, equal=True, equal_on=100),
            "sess10": SetFigures(plain=dear, muntin=side, equal=True, equal_on=100),
        },
        events=100,
        keys=1,
        repeats=3,
        strategy="shared",
    )
    Console(width=80).print(*report.tables())
    lines = capsys.readouterr().out.splitlines()
    (dash10,) = (line.split() for line in lines if "dash10" in line)
    assert dash10 == [
        *["dash10", "290.0", "145.0", "2.0", "1.0", "145.0x", "1.00x"],
        *["12,345,678", "NO"],
    ]
    (teams100,) = (line.split() for line in lines if "teams100" in line)
    assert teams100[5:] == ["-", "1.00x", "12,345,678", "yes", "*"]
    (told, sparse10) = (line.split() for line in lines if "sparse10" in line)
    assert told == ["sparse10:", "40", "events,", "8,000", "keys"]
    # It is compared on all of its own events.
    assert sparse10[6:] == ["1.50x", "7", "yes"]
    assert any("* compared on 10 events" in line for line in lines)
    # Sessions stand beside Spark's one session query.
    (sess10,) = (line.split() for line in lines if "sess10" in line)
    assert sess10[6] == "2.00x"


def test_the_readme_s_table_is_the_picture_s(tmp_path):
    root = Path(muntin.__file__).parents[1]
    script = runpy.run_path(str(root / "tools" / "readme_figure.py"))
    pairs = script["pairs"]((root / "README.md").read_text())
    names = [pair.name for pair in pairs]
    assert names == [name for name in PERIODIC if name in names]
    assert [pair.queries for pair in pairs] == [len(SETS[name]()) for name in names]
    assert {"one", "dash10", "mix100"} <= set(names)
    # Seconds are rounded in the table; the ratio was taken before.
    for pair in pairs:
        assert (pair.plain is None) == (pair.ratio is None)
        if pair.plain is not None:
            assert pair.plain / pair.muntin == pytest.approx(pair.ratio, rel=0.05)
    drawn = draw_pairs(pairs, tmp_path / "sharing.png", title="costs")
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_ticks_have_plain_numbers():
    axes = Figure().add_subplot()
    draw_lines(axes, {"a": [(1, 0.01), (100_000, 2_000_000)]})
    axes.figure.draw_without_rendering()
    names = {label.get_text() for label in axes.get_xticklabels() + axes.get_yticklabels()}
    assert {"1", "10", "1k", "100k", "0.01", "1M"} <= names
