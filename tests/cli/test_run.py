"""`muntin run` reads inputs, and writes a folder for each query."""

import json
import subprocess
import sys

import pytest

from muntin.cli import main
from muntin.spark.files import read_files
from muntin.spark.session import SparkOptions


def words(text, query):
    """The row of a query in a printed table."""
    (line,) = (line.split() for line in text.splitlines() if line.split()[:1] == [query])
    return line


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
    plain.write_text(csv.read_text())
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
