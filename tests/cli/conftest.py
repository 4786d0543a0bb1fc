"""The files of a command, and what it says when it refuses them."""

import pytest

from muntin.cli import main

SQL = """
-- name: hot
SELECT device, window, max(temp) AS hottest FROM readings
GROUP BY device, window(ts, '1 minute');
-- name: mean
SELECT device, window.start AS begin, avg(temp) AS mean, count(*) AS n FROM readings
GROUP BY device, window(ts, '2 minutes', '1 minute');
-- name: middle
SELECT device, window.start AS begin, try_avg(temp) AS middle FROM readings
GROUP BY device, window(ts, '2 minutes')
"""
CSV = """ts,device,temp
2024-01-01 00:00:01,a,1.5
2024-01-01 00:00:31,a,2.5
2024-01-01 00:01:01,b,3.5
"""


@pytest.fixture
def sql(tmp_path):
    file = tmp_path / "queries.sql"
    file.write_text(SQL)
    return file


@pytest.fixture
def csv(tmp_path):
    file = tmp_path / "readings.csv"
    file.write_text(CSV)
    return file


@pytest.fixture
def refused(capsys):
    """Run a command that must fail; gives its one line on stderr."""

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("muntin: ")
        assert said.err.count("\n") == 1
        return said.err.removeprefix("muntin: ").strip()

    return run
