import json
import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import muntin
from muntin.bench.harness.events import readings
from muntin.bench.harness.pictures import draw_lines
from muntin.bench.harness.sets import PERIODIC, SETS
from muntin.bench.spark import sharing as bench
from muntin.bench.spark.sharing import chosen, plain, sharing
from muntin.bench.spark.sharing_figure import draw
from muntin.bench.spark.sharing_report import Measured, Report, Side
from muntin.errors import RunError


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


def test_an_unknown_set_is_refused_with_the_nearest():
    with pytest.raises(RunError, match="did you mean 'dash10'"):
        chosen("one,dash1")


@pytest.mark.long
def test_both_contenders_are_measured_and_equal(spark):
    sets = ["slide3", "sess10"]
    report = sharing(spark, sets, events=3000, keys=500, repeats=1, warming=0)
    assert report.sets["sess10"].equal
    assert report.sets["sess10"].plain.rows > 5000
    measured = report.sets["slide3"]
    assert measured.equal
    assert measured.plain.rows == measured.muntin.rows > 0
    assert measured.plain.cpu_s > 0
    assert measured.equal_on == 3000
    figures = json.loads(json.dumps(report.to_json()))
    assert set(figures["sets"]["slide3"]["plain"]) == {"cpu_s", "wall_s", "rows"}


def test_a_set_too_long_for_plain_spark_is_compared_on_fewer_events(
    spark, one_is_too_long, monkeypatch
):
    monkeypatch.setattr(bench, "EQUAL_ON", 500)
    report = sharing(spark, ["one"], events=3000, keys=3, repeats=1, warming=0)
    measured = report.sets["one"]
    assert (measured.plain, measured.equal, measured.equal_on) == (None, True, 500)
    assert "plain" not in report.to_json()["sets"]["one"]


def test_a_wrong_answer_is_not_called_equal(spark, monkeypatch):
    # One event of plain Spark's is a degree colder than muntin's.
    def wrong(queries, events):
        colder = "CASE WHEN ts = (SELECT min(ts) FROM events) THEN temp - 1 ELSE temp END AS temp"
        events.createOrReplaceTempView("events")
        return plain(queries, events.sparkSession.sql(f"SELECT ts, device, {colder} FROM events"))

    monkeypatch.setattr(bench, "plain", wrong)
    report = sharing(spark, ["one"], events=200, keys=1, repeats=1, warming=0)
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
    report = Report(
        sets={
            "one": Measured(plain=side, muntin=side, equal=True, equal_on=100),
            "dash10": Measured(plain=dear, muntin=side, equal=False, equal_on=100),
            "sess": Measured(plain=half, muntin=half, equal=True, equal_on=100),
            "sess10": Measured(plain=dear, muntin=side, equal=True, equal_on=100),
        },
        events=100,
        keys=1,
        repeats=3,
        strategy="shared",
    )
    Console(width=80).print(report.table())
    lines = capsys.readouterr().out.splitlines()
    (dash10,) = (line.split() for line in lines if "dash10" in line)
    assert dash10 == [
        *["dash10", "290.0", "145.0", "2.0", "1.0", "145.0x", "1.00x"],
        *["12,345,678", "NO"],
    ]
    # Sessions stand beside Spark's one session query.
    (sess10,) = (line.split() for line in lines if "sess10" in line)
    assert sess10[6] == "2.00x"


def test_the_readme_s_table_is_the_picture_s(tmp_path):
    root = Path(muntin.__file__).parents[1]
    script = runpy.run_path(str(root / "tools" / "readme_figure.py"))
    pairs = script["pairs"]((root / "README.md").read_text())
    assert [(pair.name, pair.queries) for pair in pairs] == [
        (name, len(SETS[name]())) for name in PERIODIC
    ]
    # Seconds are rounded in the table; the ratio was taken before.
    for pair in pairs:
        assert (pair.plain is None) == (pair.ratio is None)
        if pair.plain is not None:
            assert pair.plain / pair.muntin == pytest.approx(pair.ratio, rel=0.05)
    drawn = draw(pairs, tmp_path / "sharing.png", title="costs")
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_ticks_have_plain_numbers():
    axes = Figure().add_subplot()
    draw_lines(axes, {"a": [(1, 0.01), (100_000, 2_000_000)]})
    axes.figure.draw_without_rendering()
    names = {label.get_text() for label in axes.get_xticklabels() + axes.get_yticklabels()}
    assert {"1", "10", "1k", "100k", "0.01", "1M"} <= names
