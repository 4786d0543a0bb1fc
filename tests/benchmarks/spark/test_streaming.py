import json

import pytest
from rich.console import Console

from benchmarks.spark.sharing_report import SetFigures, Side
from benchmarks.spark.stream_state import State, StateReport, state_costs
from benchmarks.spark.streaming import StreamingReport, read_streamed_sets, streaming
from muntin.errors import RunError
from muntin.measure.events import readings, write_stream_files

SIDE = Side(cpu_s=2.0, wall_s=1.0, rows=1_000)
DEAR = Side(cpu_s=29.0, wall_s=15.0, rows=1_000)


def test_sets_that_plain_spark_would_take_hours_for_are_refused():
    assert read_streamed_sets("one, dash10") == ["one", "dash10"]
    with pytest.raises(RunError, match="mix100 is not streamed; there is: dash10, distinct10, one"):
        read_streamed_sets("one,mix100")


def test_the_table_has_the_ratios_of_warm_batches(capsys):
    report = StreamingReport(
        sets={"one": SetFigures(plain=SIDE, muntin=DEAR, equal=True, equal_on=5_000)},
        events=5_000,
        keys=3,
        repeats=2,
        strategy="shared",
    )
    Console(width=100).print(*report.tables())
    said = capsys.readouterr().out
    assert "3 warm batches of 1,000 events, 3 keys, shared plan, best of 2" in said
    (one,) = (line.split() for line in said.splitlines() if line.split()[:1] == ["one"])
    assert one == ["one", "2.0", "1.0", "29.0", "15.0", "0.1x", "14.50x", "1,000", "yes"]
    assert report.to_json()["warm_batches"] == 3


def test_the_table_says_what_plain_spark_ran_instead(capsys):
    measured = SetFigures(plain=SIDE, muntin=DEAR, equal=True, equal_on=9, instead="one")
    report = StreamingReport(
        sets={"distinct10": measured}, events=900, keys=3, repeats=1, strategy="shared"
    )
    Console(width=100).print(*report.tables())
    said = capsys.readouterr().out
    assert "# distinct10: plain Spark refuses it, so its seconds are those of one" in said
    (row,) = (line.split() for line in said.splitlines() if line.split()[:1] == ["distinct10"])
    assert row[1:3] == ["2.0#", "1.0#"]
    assert row[6:] == ["14.50x", "1,000", "yes", "*"]


@pytest.mark.slow
def test_distinct_values_are_streamed_beside_one_query_of_plain_spark(spark):
    report = streaming(spark, ["distinct10"], events=8_000, keys=3, repeats=1, warm_up_turns=0)
    measured = report.sets["distinct10"]
    assert measured.equal
    assert measured.instead == "one"
    assert 0 < measured.equal_on < 8_000


def test_the_figures_of_state_are_in_a_table(capsys):
    short = State(cpu_s=2.0, wall_s=1.0, kept_bytes=1_000_000)
    kept = State(cpu_s=2.5, wall_s=1.0, kept_bytes=9_000_000)
    report = StateReport(
        short=short,
        kept=kept,
        long=kept,
        keys=100_000,
        many=kept,
        many_equal=True,
        dash10_bytes_per_key=2_821.2,
        dash10_keys=1_000_000,
        dash10=kept,
        add_s=4.0,
    )
    Console(width=100).print(*report.tables())
    said = " ".join(capsys.readouterr().out.split())
    assert "slices kept for 12 hours 2.5 9.0 1.25x" in said
    assert "100,000 keys, 3 batches 2.5 9.0" in said
    assert "dash10 keeps 2,821 bytes a key" in said
    assert "dash10 by 1,000,000 keys, 3 batches 2.5 9.0" in said
    assert json.loads(json.dumps(report.to_json()))["kept"]["kept_bytes"] == 9_000_000


def test_files_arrive_in_the_order_of_their_times(spark, tmp_path):
    files = write_stream_files(readings(spark, 1000, 3, parts=4), tmp_path / "in")
    assert len(files) == 4
    changed = [file.stat().st_mtime for file in files]
    assert changed == sorted(set(changed))
    firsts = [spark.read.parquet(str(f)).selectExpr("min(ts) AS t").first()["t"] for f in files]
    assert firsts == sorted(firsts)


@pytest.mark.slow
def test_both_contenders_are_measured_and_equal(spark):
    # Queries of one key, and of several keys.
    report = streaming(
        spark, ["slide3", "teams10"], events=20_000, keys=3, repeats=1, warm_up_turns=0
    )
    for measured in report.sets.values():
        assert measured.equal
        assert measured.plain.rows == measured.muntin.rows > 0
        assert min(measured.plain.cpu_s, measured.muntin.cpu_s) > 0


@pytest.mark.slow
def test_sessions_are_compared_up_to_where_both_have_closed_them(spark):
    report = streaming(spark, ["sess"], events=20_000, keys=2_000, repeats=1, warm_up_turns=0)
    measured = report.sets["sess"]
    assert measured.equal
    assert measured.muntin.rows > 1_000


@pytest.mark.slow
def test_sessions_that_none_has_closed_are_no_rows(spark):
    # One key with an event every few milliseconds.
    report = streaming(spark, ["sess"], events=2_000, keys=1, repeats=1, warm_up_turns=0)
    measured = report.sets["sess"]
    assert measured.equal
    assert measured.plain.rows == measured.muntin.rows == 0


@pytest.mark.slow
def test_state_keys_and_changes_are_measured(spark):
    report = state_costs(spark, events=20_000, keys=500, dash10_keys=200)
    assert report.many_equal
    assert report.dash10 is not None
    assert report.dash10.kept_bytes > 0
    # Slices alone would be 1,440 rows of 24 bytes or more.
    assert 0 < report.dash10_bytes_per_key < 15_000
    # Ten times the slices, whoever keeps them.
    assert min(report.kept.kept_bytes, report.long.kept_bytes) > 5 * report.short.kept_bytes > 0
    assert report.add_s > 0
