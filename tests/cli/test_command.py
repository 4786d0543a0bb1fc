import io
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

import muntin
from muntin.cli import main
from muntin.measure import processes
from muntin.model.prices import Prices
from muntin.spark.files import read_files
from muntin.spark.session import SparkOptions
from muntin.sql import parse_sql

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


def words(text, query):
    """The row of a query in a printed table."""
    (line,) = (line.split() for line in text.splitlines() if line.split()[:1] == [query])
    return line


# explain


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
    prices.write_text(json.dumps(dict.fromkeys(asdict(Prices()), 0)))
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
    monkeypatch.setattr("sys.stdin", io.StringIO(SQL))
    assert main(["explain", "-"]) == 0
    assert "2 of 3 queries share" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 1 FROM"))
    assert refused("explain", "-").startswith("-:1:")
    places = ["--output", tmp_path / "out", "--checkpoint", tmp_path / "check"]
    assert "--watch needs a file" in refused("stream", "-", "--input", csv, *places, "--watch")


def test_a_shell_completes_verbs_and_strategies():
    def completed(*words):
        told = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        completing = {"_MUNTIN_COMPLETE": "complete_bash", **told}
        command = [sys.executable, "-m", "muntin"]
        run = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **completing}
        )
        return run.stdout.split()

    assert completed("muntin", "ex") == ["explain"]
    assert completed("muntin", "explain", "--strategy", "we") == ["weave"]


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


# what is refused


def test_an_unknown_strategy_is_refused_with_the_nearest(sql, refused):
    assert refused("explain", sql, "--strategy", "shred").endswith("did you mean 'shared'?")


def test_a_missing_file_is_refused(tmp_path, refused):
    file = tmp_path / "nowhere.sql"
    assert refused("explain", file) == f"{file}: No such file or directory"


def test_wrong_sql_is_refused_by_the_name_of_its_query(tmp_path, refused):
    file = tmp_path / "wrong.sql"
    file.write_text("-- name: broken\nSELECT max(temp FROM t GROUP BY window(ts, '1 minute')")
    assert "'broken'" in refused("explain", file)


def test_an_empty_file_is_refused_by_its_name(tmp_path, refused):
    file = tmp_path / "empty.sql"
    file.write_text("-- nothing yet\n")
    for verb in (["explain"], ["run", "--input", file, "--output", tmp_path / "out"]):
        said = refused(verb[0], file, *verb[1:])
        assert said == f"{file}: there is no SQL statement; write at least one SELECT"


@pytest.mark.parametrize(
    ("statement", "place", "said"),
    [
        ("SELECT device, max(tmp) AS m", "4:20", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("SELECT device, try_avg(tmp) AS m", "4:24", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("SELECT device,\n  agv(temp) AS m", "5:3", "[UNRESOLVED_ROUTINE]"),
        ("SELECT device, max(temp) a b", "4:28", "[PARSE_SYNTAX_ERROR]"),
    ],
)
def test_what_spark_refuses_is_said_with_its_place(
    spark, csv, tmp_path, refused, statement, place, said
):
    file = tmp_path / "wrong.sql"
    file.write_text(
        "-- name: fine\nSELECT count(*) AS n FROM readings GROUP BY window(ts, '1 hour');\n"
        f"-- name: wrong\n{statement}\nFROM readings\nGROUP BY device, window(ts, '1 minute')"
    )
    line = refused("run", file, "--input", csv, "--output", tmp_path / "out")
    assert line.startswith(f"{file}:{place}: query 'wrong': {said}")
    assert " pos " not in line


def test_a_file_that_is_no_text_is_refused(tmp_path, refused):
    file = tmp_path / "picture.sql"
    file.write_bytes(b"\x89PNG\xff\xfe")
    assert "is not text" in refused("explain", file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explian"], "No such command 'explian'"),
        (["explain"], "Missing argument 'FILE.sql'. See `muntin explain --help`."),
        (["explain", "x.sql", "--bogus"], "No such option"),
        (["explain", "x.sql", "--rate", "fast"], "Invalid value for '--rate'"),
    ],
)
def test_a_wrong_command_is_refused_in_a_line(arguments, said, refused):
    assert said in refused(*arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--input", "nowhere.csv"], "there is no nowhere.csv"),
        (["--input", "{csv}", "--format", "parket"], "did you mean 'parquet'?"),
        (["--input", "{csv}", "--mode", "owerwrite"], "did you mean 'overwrite'?"),
        (["--input", "{csv}", "--input", "{csv}"], "several inputs need names"),
        (["--input", "{csv}", "--input", "a={csv}"], "needs a name"),
        (["--input", "a={csv}", "--input", "a={csv}"], "two inputs are called 'a'"),
        (["--input", "raedings={csv}"], "did you mean 'readings'?"),
        (["--input", "{sql}"], "does not tell its format"),
        ([], "the queries read readings; say what that is, by --input or --table"),
        (
            ["--input", "{csv}", "--table", "t"],
            "several inputs need names, as in --table readings=t",
        ),
        (["--input", "a={csv}", "--table", "t"], "t needs a name, as in --table readings=t"),
        (["--input", "{csv}", "--input-format", "dleta"], "did you mean 'delta'?"),
        (["--input", "{csv}", "--output-format", "delta"], "no format is called 'delta'"),
        (["--input", "{csv}", "--conf", "spark.x"], "--conf takes KEY=VALUE, not 'spark.x'"),
        (
            ["--input", "{csv}", "--remote", "sc://x", "--master", "yarn"],
            "--master does not go with --remote",
        ),
    ],
)
def test_run_refuses_in_a_line(spark, sql, csv, tmp_path, options, said, refused):
    filled = [option.format(csv=csv, sql=sql) for option in options]
    assert said in refused("run", sql, *filled, "--output", tmp_path / "out")


def test_an_error_of_sparks_own_is_one_line(spark, csv, tmp_path, refused):
    file = tmp_path / "wrong.sql"
    file.write_text(
        "-- name: wrong\nSELECT window.start AS s, max(CAST(device AS INT)) AS m FROM readings"
        " GROUP BY window(ts, '1 minute')"
    )
    assert "[CAST_INVALID_INPUT]" in refused("run", file, "--input", csv, "--output", tmp_path)


def test_files_and_folders_are_checked_before_spark_starts(
    sql, csv, tmp_path, refused, monkeypatch
):
    monkeypatch.setattr("muntin.cli.run.session_at", None)
    monkeypatch.setattr("muntin.cli.stream.session_at", None)
    out = tmp_path / "out"
    run = ["run", sql, "--input", csv, "--output"]
    stream = ["stream", sql, "--input", csv.parent, "--format", "csv"]
    assert "--input" in refused("run", sql, "--input", tmp_path / "no.csv", "--output", out)
    assert f"{csv} is a file; --output needs a folder" in refused(*run, csv)
    assert f"{csv} is a file" in refused(*run, csv / "below")
    assert f"{csv} is a file; --checkpoint needs a folder" in refused(
        *stream, "--output", out, "--checkpoint", csv
    )
    assert "there is no nowhere, which --input names" in refused(
        "stream", sql, "--input", "nowhere", "--output", out, "--checkpoint", tmp_path / "check"
    )
    assert 'on_error is "stop" or "drop query"' in refused(
        *stream, "--output", out, "--checkpoint", tmp_path / "check", "--on-error", "ignore"
    )
    assert "there is no folder" in refused("explain", sql, "--svg", tmp_path / "no" / "x.svg")
    (out / "mean").mkdir(parents=True)
    assert "query 'mean'" in refused(*run, out)
    assert "--mode overwrite" in refused(*run, out)
    monkeypatch.setattr("os.access", lambda _, mode: not mode & os.W_OK)
    assert f"{tmp_path} is not writable" in refused(*run, tmp_path / "new" / "out")


def test_relations_without_an_input_are_asked_for_by_option(tmp_path, csv, refused):
    file = tmp_path / "two.sql"
    file.write_text("SELECT count(*) FROM a; SELECT count(*) FROM b")
    said = refused("run", file, "--input", csv, "--output", tmp_path / "out")
    assert said == "the queries read a, b; give each of them: --input a=PATH --input b=PATH"


def test_without_java_the_line_says_what_to_install(sql, csv):
    environment = {**os.environ, "JAVA_HOME": "/nonexistent"}
    command = [sys.executable, "-m", "muntin", "run", str(sql), "--input", str(csv)]
    command += ["--output", "out"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("muntin: there is no /nonexistent/bin/java. Spark needs Java 17")
    assert done.stderr.count("\n") == 1


# run


def test_run_writes_a_folder_for_each_query(spark, sql, csv, tmp_path, capsys):
    output = tmp_path / "out"
    arguments = ["run", str(sql), "--input", str(csv), "--output", str(output)]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert words(said.out, "hot")[1] == "2"
    assert words(said.out, "mean")[1] == "4"
    assert said.err == ""
    hot = spark.read.parquet(str(output / "hot")).orderBy("device").collect()
    assert [(row.device, row.hottest) for row in hot] == [("a", 2.5), ("b", 3.5)]
    # A second run must say what is to become of the first.
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "exists already; name another --output, or add --mode overwrite" in error
    assert main([*arguments, "--mode", "append"]) == 0
    assert words(capsys.readouterr().out, "hot")[1] == "2"
    assert spark.read.parquet(str(output / "hot")).count() == 4


def test_inputs_and_answers_have_formats_of_their_own(spark, sql, csv, tmp_path, capsys):
    plain = tmp_path / "readings.txt"
    plain.write_text(CSV)
    where = ["run", str(sql), "--input", str(plain), "--mode", "overwrite", "--output"]
    for more, suffix in (
        (["--input-format", "csv"], "parquet"),
        (["--input-format", "csv", "--output-format", "json"], "json"),
        (["--format", "csv", "--output-format", "json"], "json"),
        (["--format", "csv"], "csv"),
    ):
        assert main([*where, str(tmp_path / "out"), *more]) == 0
        assert words(capsys.readouterr().out, "hot")[1] == "2"
        assert list((tmp_path / "out" / "hot").glob(f"*.{suffix}"))


def test_a_table_of_the_catalog_is_read(spark, sql, csv, tmp_path, capsys):
    read_files(spark, str(csv)).createOrReplaceTempView("some_readings")
    for number, table in enumerate(("some_readings", "readings=some_readings")):
        arguments = ["run", str(sql), "--table", table, "--output", str(tmp_path / str(number))]
        assert main(arguments) == 0
        assert words(capsys.readouterr().out, "hot")[1] == "2"


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ("_delta_log/00000000000000000000.json", "Delta"),
        ("metadata/v1.metadata.json", "Iceberg"),
        (".hoodie/hoodie.properties", "Hudi"),
    ],
)
def test_the_folder_of_a_table_is_named(spark, sql, tmp_path, refused, inside, kind):
    table = tmp_path / "readings"
    (table / inside).parent.mkdir(parents=True)
    (table / inside).write_text("{}")
    (table / "part-0.parquet").write_text("")
    for place in (str(table), table.as_uri().replace("file:/", "file:///", 1)):
        said = refused(
            "run", sql, "--input", place, "--format", "json", "--output", tmp_path / "out"
        )
        assert f"is a table of {kind}" in said
        assert f"--input-format {kind.lower()} and --packages " in said
        assert "--table" in said


def test_a_cluster_gets_the_settings_of_the_command():
    options = SparkOptions.of(
        remote=None,
        master="yarn",
        conf=["spark.executor.memory=8g", "spark.app.name=a=b", "spark.jars.packages=x:y:1"],
        packages=["io.delta:delta-spark_2.13:4.0.0"],
    )
    settings = options.all_settings("4g")
    assert settings["spark.master"] == "yarn"
    assert settings["spark.executor.memory"] == "8g"
    assert settings["spark.app.name"] == "a=b"
    assert settings["spark.jars.packages"] == "x:y:1,io.delta:delta-spark_2.13:4.0.0"
    # The machines of a cluster have to reach the driver.
    assert "spark.driver.host" not in settings
    assert SparkOptions().all_settings("1g")["spark.driver.host"] == "127.0.0.1"


@pytest.mark.long
@pytest.mark.spark
def test_a_new_session_has_the_settings_of_the_command(sql, csv, tmp_path):
    arguments = ["run", "-", "--input", str(csv), "--output", str(tmp_path / "out")]
    more = ["--master", "local[1]", "--conf", "spark.sql.session.timeZone=Asia/Tokyo"]
    statement = (
        "-- name: zone\nSELECT window.start, max(current_timezone()) AS zone FROM readings "
        "GROUP BY window(ts, '1 day')"
    )
    command = [sys.executable, "-m", "muntin", *arguments, *more, "--output-format", "json"]
    ran = subprocess.run(command, input=statement, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    (file,) = (tmp_path / "out" / "zone").glob("*.json")
    assert json.loads(file.read_text())["zone"] == "Asia/Tokyo"


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_run_reads_and_writes_each_format(spark, csv, tmp_path, capsys, format):
    given, output = tmp_path / "given", tmp_path / "out"
    options = {"header": "true"} if format == "csv" else {}
    read_files(spark, str(csv)).write.format(format).options(**options).save(str(given))
    file = tmp_path / "flat.sql"
    file.write_text(
        "-- name: mean\nSELECT device, window.start AS begin, avg(temp) AS mean FROM readings"
        " GROUP BY device, window(ts, '1 minute')"
    )
    arguments = ["run", str(file), "--input", f"readings={given}", "--output", str(output)]
    assert main([*arguments, "--format", format]) == 0
    assert words(capsys.readouterr().out, "mean")[1] == "2"
    answers = read_files(spark, str(output / "mean"))
    assert dict(answers.dtypes) == {"device": "string", "begin": "timestamp", "mean": "double"}
    assert sorted(row.mean for row in answers.collect()) == [2.0, 3.5]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_run_writes_the_fields_of_a_window_as_columns(spark, sql, csv, tmp_path, capsys, format):
    arguments = ["run", str(sql), "--input", str(csv), "--output", str(tmp_path / "out")]
    # In csv there is no other way.
    more = [] if format == "csv" else ["--flatten"]
    assert main([*arguments, "--format", format, *more]) == 0
    hot = read_files(spark, str(tmp_path / "out" / "hot")).orderBy("device")
    assert set(hot.columns) == {"device", "window_start", "window_end", "hottest"}
    first = hot.first()
    assert (first.window_end - first.window_start).total_seconds() == 60


def test_run_takes_several_relations_by_name(spark, csv, tmp_path, capsys):
    file = tmp_path / "two.sql"
    file.write_text(
        "-- name: a\nSELECT window, count(*) AS n FROM readings GROUP BY window(ts, '1 minute');\n"
        "-- name: b\nSELECT window, count(*) AS n FROM others GROUP BY window(ts, '1 hour')"
    )
    # The sign stands in this folder's name, as in Spark's own partitions.
    folder = tmp_path / "day=1"
    folder.mkdir()
    csv.rename(folder / "x.csv")
    arguments = ["run", str(file), "--output", str(tmp_path / "out")]
    for name in ("readings", "others"):
        arguments += ["--input", f"{name}={folder}"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert (words(said, "a")[1], words(said, "b")[1]) == ("2", "1")


# the others


@pytest.mark.parametrize("verb", [[], ["explain"], ["run"], ["stream"], ["demo"]])
def test_help_teaches_by_examples(verb, capsys):
    assert main([*verb, "--help"]) == 0
    assert f"muntin {' '.join(verb)}".strip() in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"muntin {muntin.__version__}\n"


def test_the_version_is_written_once():
    project = tomllib.loads((Path(muntin.__file__).parents[1] / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    attribute = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "muntin.__version__"


@pytest.mark.parametrize("verb", [["demo"], ["calibrate"]])
def test_what_measures_says_at_once_that_psutil_is_missing(verb, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(processes, "psutil", None)
    assert "pip install 'muntin[bench]'" in refused(*verb)
    assert list(tmp_path.iterdir()) == []


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
