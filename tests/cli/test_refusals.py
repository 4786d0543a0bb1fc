"""A command that cannot run says why in one line, before anything starts."""

import os
import subprocess
import sys

import pytest


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
    assert "replan is a share of the cost that is not negative" in refused(
        *stream, "--output", out, "--checkpoint", tmp_path / "check", "--replan", "-0.1"
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
