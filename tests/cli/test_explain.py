"""`muntin explain` prints plans, as a table, a picture, SQL or JSON, and starts no Spark."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict

import pytest

from muntin.cli import main
from muntin.model.prices import Prices
from muntin.spark.files import read_files
from muntin.sql import parse_sql


def test_explain_shows_strategies_and_takes_prices(sql, tmp_path, capsys, refused):
    assert main(["explain", str(sql)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^ +\S+ ops/s  \S+ more +unshared$", said, re.MULTILINE)
    assert "(chosen)" in said
    assert "weave" not in said
    assert main(["explain", str(sql), "--strategies", "--strategy", "weave"]) == 0
    said = capsys.readouterr().out
    assert "weave (chosen)" in said
    assert all(re.search(rf"\b{name}\b", said) for name in ("exact", "weave", "subsume"))
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({**dict.fromkeys(asdict(Prices()), 0), "model": "runtime"}))
    assert main(["explain", str(sql), "--strategy", "shared", "--prices", str(prices)]) == 0
    assert "reading 0, answering 0" in capsys.readouterr().out
    prices.write_text('{"evnt": 0}')
    assert "did you mean 'event'" in refused("explain", sql, "--prices", prices)


def test_explain_gives_the_plan_as_sql(sql, capsys):
    assert main(["explain", str(sql), "--sql"]) == 0
    said = capsys.readouterr().out
    assert [q.name for q in parse_sql(said)] == ["hot", "mean", "middle"]
    assert said.count("WITH slices AS (") == 2
    assert main(["explain", str(sql), "--sql", "--together"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("-- 'middle' is not in it: ")
    assert said.count("GROUP BY device, window(") == 1
    assert "CASE q WHEN 0 THEN 'hot' WHEN 1 THEN 'mean' END AS query" in said


def test_explain_prints_the_plan_and_draws_it(sql, tmp_path, capsys):
    picture = tmp_path / "plan.svg"
    assert main(["explain", str(sql), "--rate", "50", "--keys", "3", "--svg", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "2 of 3 queries share; 2 scans instead of 3" in said
    assert "50 events/s and 3 keys\n" in said
    assert "slices of 1 minute" in said
    assert "answered by Spark alone" in said
    assert picture.read_text().startswith("<svg")


def test_explain_measures_inputs(spark, sql, csv, capsys):
    for more, told in (
        ([], "1k events/s (assumed) and 1 key (assumed)"),
        (["--input", str(csv)], "0.1 events/s and 2 keys"),
        (["--input", f"readings={csv}", "--keys", "7"], "0.1 events/s and 7 keys"),
    ):
        assert main(["explain", str(sql), *more]) == 0
        assert f"costs for {told}\n" in capsys.readouterr().out
    read_files(spark, str(csv)).createOrReplaceTempView("some_readings")
    assert main(["explain", str(sql), "--table", "some_readings"]) == 0
    assert "costs for 0.1 events/s and 2 keys\n" in capsys.readouterr().out


def test_explain_gives_the_plan_as_json(sql, capsys):
    assert main(["explain", str(sql), "--json", "--rate", "50"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["queries_that_share"] == ["hot", "mean"]
    assert (said["queries"], said["scans"]) == (3, 2)
    assert said["events_per_second"] == {"value": 50.0, "assumed": False}
    assert said["keys"] == {"value": 1.0, "assumed": True}
    assert said["cost"]["this plan"]["ops_per_second"] > 0
    assert list(said["answered_by_spark_alone"]) == ["middle"]
    (tree,) = said["trees"]
    assert (tree["relation"], tree["keys"]) == ("readings", ["device"])
    assert [each["answers"] for each in tree["windows"]] == [["hot"], ["mean"]]


def test_a_pipe_gets_whole_lines(tmp_path, capsys):
    file = tmp_path / "many.sql"
    names = [f"a_query_with_a_long_name_{number}" for number in range(40)]
    statement = "SELECT device, max(temp), avg(load) FROM r GROUP BY device, window(ts, '1 hour');"
    file.write_text("\n".join(f"-- name: {name}\n{statement}" for name in names))
    assert main(["explain", str(file)]) == 0
    said = capsys.readouterr().out
    assert ", ".join(names) in said
    assert "more" not in said.partition("answers")[2]


def test_sql_comes_from_standard_input(sql, csv, tmp_path, capsys, monkeypatch, refused):
    monkeypatch.setattr("sys.stdin", io.StringIO(sql.read_text()))
    assert main(["explain", "-"]) == 0
    assert "2 of 3 queries share" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 1 FROM"))
    assert refused("explain", "-").startswith("-:1:")
    places = ["--output", tmp_path / "out", "--checkpoint", tmp_path / "check"]
    assert "--watch needs a file" in refused("stream", "-", "--input", csv, *places, "--watch")


def test_explain_takes_a_strategy(sql, capsys):
    assert main(["explain", str(sql), "--strategy", "unshared"]) == 0
    assert capsys.readouterr().out.startswith("unshared plan")


def test_explain_shows_what_a_stream_runs(tmp_path, capsys):
    file = tmp_path / "two.sql"
    file.write_text(
        "".join(
            f"-- name: by{slide}\nSELECT max(x) FROM readings "
            f"GROUP BY window(ts, '60 minutes', '{slide} minutes');\n"
            for slide in (20, 30)
        )
    )
    assert main(["explain", str(file), "--strategy", "factor"]) == 0
    assert "factor window" in capsys.readouterr().out
    assert main(["explain", str(file), "--strategy", "factor", "--stream"]) == 0
    said = capsys.readouterr().out
    assert "factor window" not in said
    assert "slices of 10 minutes" in said
    assert main(["explain", str(file), "--stream"]) == 0
    assert capsys.readouterr().out.startswith("shared plan")


def test_explain_names_the_techniques_and_forces_one(sql, capsys, refused, monkeypatch):
    # In a narrow terminal long names are cut short.
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["explain", str(sql), "--technique", "flat_fat"]) == 0
    assert "by flat_fat" in capsys.readouterr().out
    assert main(["explain", str(sql), "--latency"]) == 0
    assert "by daba_lite" in capsys.readouterr().out
    assert "subtract cannot serve max(temp)" in refused("explain", sql, "--technique", "subtract")
    assert refused("explain", sql, "--technique", "daba2").endswith("did you mean 'daba'?")


WRONG = """-- name: fine
SELECT device, max(temp) AS m FROM readings GROUP BY device, window(ts, '1 minute');

-- name: wrong
SELECT device, {call}(temp) AS m FROM readings
  {group} BY device, window(ts, '1 minute')
"""


@pytest.mark.parametrize(
    ("call", "group", "said"),
    [
        ("max", "GRUOP", "wrong.sql:6:3: query 'wrong': syntax error at 'GRUOP'; did you mean"),
        ("agv", "GROUP", "wrong.sql:5:16: query 'wrong': Spark has no function agv; did you mean"),
    ],
)
def test_explain_refuses_what_run_would_refuse(tmp_path, refused, call, group, said):
    file = tmp_path / "wrong.sql"
    file.write_text(WRONG.format(call=call, group=group))
    assert said in refused("explain", file)


def test_explain_is_told_of_functions_of_the_users(tmp_path, capsys, refused):
    file = tmp_path / "wrong.sql"
    file.write_text(WRONG.format(call="agv", group="GROUP"))
    assert "name it with --udf" in refused("explain", file)
    assert main(["explain", str(file), "--udf", "AGV"]) == 0
    assert "agv(temp) may be an aggregate of its own" in capsys.readouterr().out


def test_explain_lets_spark_check_where_it_is_asked_to(spark, tmp_path, capsys, refused):
    file = tmp_path / "wrong.sql"
    # Spark reads this, and sqlglot does not.
    file.write_text("SELECT * FROM sessions(TABLE(readings) PARTITION BY device)")
    assert "if Spark can read it, add --check" in refused("explain", file)
    assert main(["explain", str(file), "--check"]) == 0
    assert "beyond the parser" in capsys.readouterr().out
    file.write_text(WRONG.format(call="max", group="GRUOP"))
    assert "wrong.sql:6:9: query 'wrong': [PARSE_SYNTAX_ERROR]" in refused(
        "explain", file, "--check"
    )
    file.write_text(WRONG.format(call="agv", group="GROUP"))
    assert "wrong.sql:5:16: query 'wrong': Spark has no function agv" in refused(
        "explain", file, "--check"
    )


def test_explain_says_what_its_costs_are(sql, capsys):
    assert main(["explain", str(sql)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 op merges two partial aggregates, about 3 ns; CPU s/h is CPU seconds" in said
    assert "costs are estimates; fixed ones, such as starting a job, are left out" in said


def test_explain_does_not_start_spark(sql):
    # Without any Java a session could not start.
    environment = {**os.environ, "JAVA_HOME": "/nonexistent", "PATH": ""}
    command = [sys.executable, "-m", "muntin", "explain", str(sql)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tree: readings" in done.stdout


def test_sketches_are_shared_if_their_errors_are_allowed(tmp_path, capsys):
    sql = tmp_path / "sketch.sql"
    sql.write_text(
        "SELECT device, hll_sketch_agg(x) AS s FROM r GROUP BY device, window(ts, '1 minute');"
        "SELECT device, hll_sketch_agg(x) AS s FROM r GROUP BY device, window(ts, '1 hour')"
    )
    assert main(["explain", str(sql)]) == 0
    assert "approximate=True" in capsys.readouterr().out
    assert main(["explain", str(sql), "--approximate"]) == 0
    said = capsys.readouterr().out
    assert "approximate=True" not in said
    assert "Spark's only within their errors: hll_sketch_agg(x)" in said
