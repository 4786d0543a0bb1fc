"""Sinks take a batch a second time as if it were the first, and say what they cannot take."""

import pytest

from muntin.errors import RunError
from muntin.spark.sinks.console_sink import Console
from muntin.spark.sinks.folder_sink import Files, FolderSink
from muntin.spark.sinks.open_sink import FunctionSink, open_sink
from muntin.spark.sinks.sink import SinkContext
from muntin.spark.sinks.tables import Tables
from tests.support.made_answers import NESTED, Given, answer, devices, opened


@pytest.fixture
def database(spark):
    spark.sql("CREATE DATABASE sensors")
    yield "sensors"
    spark.sql("DROP DATABASE sensors CASCADE")


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_folder_has_a_batch_once_after_a_second_try(spark, tmp_path, format):
    options = {"header": "true"} if format == "csv" else {}

    def sink():
        return opened(Files(tmp_path / "out", format=format, options=options), spark)

    first = sink()
    first.write(0, Given(answer(spark, "a", 0, 3), answer(spark, "b", 0, 1)))
    first.write(1, Given(answer(spark, "a", 3, 2)))
    # In the same process, as when a change of queries was taken back.
    first.write(1, Given(answer(spark, "a", 3, 2)))
    # In another process, after a cut; the first try may have had answers for another query.
    first.write(2, Given(answer(spark, "b", 9, 1)))
    sink().write(2, Given(answer(spark, "a", 5, 1)))
    schema = answer(spark, "a", 0, 1).frame.schema
    found = {
        name: spark.read.schema(schema)
        .options(**options)
        .format(format)
        .load(str(tmp_path / "out" / name))
        for name in ("a", "b")
    }
    assert devices(found["a"]) == [0, 1, 2, 3, 4, 5]
    assert devices(found["b"]) == [0]
    assert sorted(row["mean"] for row in found["a"].collect()) == [id / 3 for id in range(6)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "b"]


def test_a_try_that_fails_between_two_files_is_cleaned_up(spark, tmp_path, monkeypatch):
    sink = opened(Files(tmp_path), spark)
    sink.write(0, Given(answer(spark, "a", 0, 1)))
    place = FolderSink._move_files

    def full(self, source, target, prefix, kind):
        if target == "b":
            raise OSError("disk full")
        return place(self, source, target, prefix, kind)

    both = [answer(spark, "a", 1, 1), answer(spark, "b", 1, 1)]
    monkeypatch.setattr(FolderSink, "_move_files", full)
    with pytest.raises(RunError, match=r"query 'b': the answers of batch 1 .* disk full"):
        sink.write(1, Given(*both))
    monkeypatch.undo()
    sink.write(1, Given(*both))
    assert devices(spark.read.parquet(str(tmp_path / "a"))) == [0, 1]
    assert devices(spark.read.parquet(str(tmp_path / "b"))) == [1]


def test_csv_has_no_place_for_an_array(spark, tmp_path):
    schemas = {"a": answer(spark, "a", 0, 1, "array(id) AS ids").frame.schema}
    with pytest.raises(RunError, match=r"query 'a': csv has no place for ids, array<bigint>;"):
        opened(Files(tmp_path, format="csv"), spark).check(schemas)
    opened(Files(tmp_path, format="json"), spark).check(schemas)


def test_many_queries_with_the_same_columns_and_some_with_others(spark, tmp_path):
    answers = [answer(spark, f"a{n}", n, 1 + n % 3) for n in range(19)]
    answers += [answer(spark, "n", 0, 2, NESTED)]
    opened(Files(tmp_path), spark).write(0, Given(*answers))
    for n in range(19):
        found = spark.read.parquet(str(tmp_path / f"a{n}"))
        assert devices(found) == [n + one for one in range(1 + n % 3)]
        assert found.columns == ["device", "begin", "mean"]
    assert spark.read.parquet(str(tmp_path / "n")).columns == ["device", "window"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(a.name for a in answers)
    # A file for each query, and none with its checksum.
    assert {len(list((tmp_path / each.name).iterdir())) for each in answers} == {1}


def test_a_place_that_cannot_be_written_names_the_query(spark, tmp_path):
    (tmp_path / "file").write_text("")
    sink = opened(Files(tmp_path / "file" / "out"), spark)
    with pytest.raises(RunError, match=r"query 'a': the answers of batch 0 could not be written"):
        sink.write(0, Given(answer(spark, "a", 0, 1)))


def test_a_function_that_fails_is_said_with_query_and_batch(spark):
    def broken(name, frame, batch):
        raise OSError("disk full")

    with pytest.raises(RunError, match=r"'a'.* batch 7 could not be written: OSError: disk full"):
        FunctionSink(broken).write(7, Given(answer(spark, "a", 0, 1)))


def test_memory_keeps_a_batch_once(spark):
    sink = open_sink(None, SinkContext(session=spark, mark="m", checkpoint="check"))
    sink.write(0, Given(answer(spark, "a", 0, 2)))
    sink.write(1, Given(answer(spark, "a", 2, 2), answer(spark, "b", 0, 1)))
    sink.write(1, Given(answer(spark, "a", 2, 1)))
    assert devices(sink.answers("a")) == [0, 1, 2]
    assert devices(sink.answers("b")) == []
    assert sink.answers("c") is None


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_tables_have_a_batch_once_and_outlive_the_catalog(spark, database, format):
    def sink():
        return opened(Tables(database=database, format=format), spark)

    batches = [[answer(spark, "a", 0, 2, NESTED)], [answer(spark, "a", 2, 1, NESTED)]]
    for number, answers in enumerate(batches):
        sink().write(number, Given(*answers))
        sink().write(number, Given(*answers))
    found = spark.table(f"{database}.a")
    assert devices(found) == [0, 1, 2]
    types = [field.dataType.simpleString() for field in found.schema.fields]
    assert types == ["string", "bigint" if format == "csv" else "struct<start:bigint>"]
    # A catalog in memory forgets its tables with the session; the files are there.
    spark.sql(f"DROP TABLE {database}.a")
    again = sink()
    again.check({"a": batches[0][0].frame.schema})
    again.write(2, Given(answer(spark, "a", 3, 1, NESTED)))
    assert devices(spark.table(f"{database}.a")) == [0, 1, 2, 3]


def test_tables_of_others_are_refused(spark, database, tmp_path):
    sink = opened(Tables(database=database), spark)
    sink.write(0, Given(answer(spark, "a", 0, 1)))
    with pytest.raises(RunError, match=rf"`{database}`.`a` has the columns device string, begin"):
        sink.check({"a": answer(spark, "a", 0, 1, NESTED).frame.schema})
    spark.sql(f"CREATE TABLE {database}.other (x INT) USING json LOCATION '{tmp_path}'")
    with pytest.raises(RunError, match=r"query 'other'.*is not over"):
        sink.check({"other": answer(spark, "a", 0, 1).frame.schema})
    with pytest.raises(RunError, match="no database 'nowhere'"):
        opened(Tables(database="nowhere"), spark)


def test_the_console_shows_the_first_rows_of_each_query(spark, capsys):
    answers = Given(answer(spark, "a", 0, 3), answer(spark, "b", 7, 1))
    opened(Console(rows=2), spark).write(4, answers)
    out = capsys.readouterr().out
    assert "batch 4, a: 3 rows" in out
    assert "only showing top 2 rows" in out
    assert "batch 4, b: 1 rows" in out
