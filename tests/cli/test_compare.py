"""`muntin compare`: both sides are run, compared and printed."""

import json

import pytest

from muntin.cli import main

pytestmark = pytest.mark.usefixtures("no_waits")

SQL = """
    -- name: hot
    SELECT device, window, max(temp) AS hottest FROM readings
    GROUP BY device, window(ts, '1 minute');
    -- name: mean
    SELECT window, avg(temp) AS mean FROM readings GROUP BY window(ts, '2 minutes', '1 minute')
"""


@pytest.fixture
def files(spark, tmp_path):
    """A file of queries and a folder of events."""
    queries, events = tmp_path / "queries.sql", tmp_path / "events"
    queries.write_text(SQL)
    spark.sql(
        "SELECT timestamp_seconds(1700000000 + id) AS ts, id % 2 AS device, id / 3D AS temp "
        "FROM range(120)"
    ).write.parquet(str(events))
    return str(queries), str(events)


def test_equal_answers(files, tmp_path, capsys):
    queries, events = files
    figures = tmp_path / "figures.json"
    arguments = ["compare", queries, "--input", events, "--repeats", "1", "--json", str(figures)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "2 queries" in said
    rows = [line.split() for line in said.splitlines()]
    assert [row[1:] for row in rows if row[:1] == ["hot"]] == [["6", "6", "yes"]]
    assert json.loads(figures.read_text())["queries"]["mean"]["equal"] is True


def test_answers_that_differ_have_an_exit_code(files, capsys):
    queries, events = files
    with open(queries, "a") as file:
        file.write(
            ";-- name: clock\nSELECT window, max(unix_micros(current_timestamp())) AS at "
            "FROM readings GROUP BY window(ts, '1 minute')"
        )
    assert main(["compare", queries, "--input", events, "--repeats", "1"]) == 1
    assert "rows differ" in capsys.readouterr().out


def test_a_missing_input_is_refused(files, capsys):
    queries, _ = files
    assert main(["compare", queries, "--input", "nowhere.parquet"]) == 2
    assert "nowhere.parquet" in capsys.readouterr().err
