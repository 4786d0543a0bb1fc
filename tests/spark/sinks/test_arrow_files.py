"""Files of queries with different columns, by one job: Spark reads what it would have written."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.functions import expr

from muntin.spark.engine.settings import temporary_settings
from muntin.spark.error_text import error_line
from muntin.spark.output.stacking import INDEX, CombinedAnswers, Part
from muntin.spark.sinks import arrow_files
from muntin.spark.sinks.arrow_files import can_write_in_one_job
from muntin.spark.sinks.file_options import FileOptions
from muntin.spark.sinks.folder_sink import Files
from muntin.spark.sinks.sink import Answer
from tests.support.made_answers import NESTED, Given, answer, opened

# Nulls, NaN, both zeros, times before 1900, 1582 and 1970, a long decimal, text of any kind.
EVERY_TYPE = {
    "is": "IF(id = 1, NULL, id % 2 = 0)",
    "tiny": "CAST(id AS TINYINT)",
    "small": "CAST(-id AS SMALLINT)",
    "whole": "CAST(id AS INT)",
    "long": "IF(id = 2, NULL, id)",
    "half": "CAST(id AS FLOAT) / 3",
    "real": "CASE id WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN NULL ELSE 1e300D END",
    "price": "CAST(id AS DECIMAL(5, 2))",
    "total": "-CAST(id AS DECIMAL(38, 3))",
    "text": "array('ä', '', NULL, 'a\nb', '1')[id]",
    "bytes": "unhex('00FF31')",
    "day": "date_sub(DATE'1582-10-20', CAST(id * 9 AS INT))",
    "at": "array(timestamp'1500-03-01 00:00:00.000001', timestamp'1890-01-01', NULL)[id % 3]",
    "local": "timestamp_ntz'1969-12-31 23:59:59.999999' + make_dt_interval(id * 99)",
    "window": "struct(timestamp_seconds(id) AS start, timestamp_seconds(id + 60) AS end)",
}


def with_columns(spark, name, columns, rows=5):
    named = [
        expr(sql).alias(column, metadata={"of": name} if column == "window" else {})
        for column, sql in columns.items()
    ]
    frame = spark.range(rows).select(*named)
    return Answer(name=name, rows=rows, frame=frame.localCheckpoint())


def is_at_once(frame, struct):
    """Whether a query with the columns of a frame, and another one, are written at once."""
    part = Part(names={0: "some"}, struct=struct, schema=frame.schema)
    whole = CombinedAnswers(frame=frame, parts=[part, replace(part, names={1: "more"})])
    return can_write_in_one_job(whole, FileOptions())


def test_spark_reads_what_it_would_have_written(spark, tmp_path):
    short = answer(spark, "short", 0, 3, NESTED)
    for codec, kind, instants, other in (
        ("zstd", ".zstd.parquet", "INT96", "local"),
        ("none", ".parquet", "TIMESTAMP_MICROS", None),
    ):
        every = with_columns(
            spark, "every", {name: sql for name, sql in EVERY_TYPE.items() if name != other}
        )
        changed = {
            "spark.sql.parquet.compression.codec": codec,
            "spark.sql.parquet.outputTimestampType": instants,
        }
        with temporary_settings(spark, changed):
            opened(Files(tmp_path / codec), spark).write(7, Given(every, short))
            every.frame.write.parquet(str(tmp_path / codec / "by spark"))
        (file,) = (tmp_path / codec / "every").iterdir()
        # One job wrote both: after the batch come the query, its file and a number of Spark's.
        assert file.name == f"part-m-00000007-0-1-00000{kind}"
        found = spark.read.parquet(str(file))
        wanted = spark.read.parquet(str(tmp_path / codec / "by spark"))
        assert found.schema == wanted.schema
        assert found.schema["window"].metadata == {"of": "every"}
        assert sorted(map(str, found.collect())) == sorted(map(str, wanted.collect()))
        metadata = pq.read_metadata(file)
        assert metadata.num_rows == 5
        columns = [metadata.row_group(0).column(n) for n in range(metadata.num_columns)]
        assert {one.compression for one in columns} == {
            "ZSTD" if codec == "zstd" else "UNCOMPRESSED"
        }
        read = spark.read.parquet(str(tmp_path / codec / "short"))
        assert read.columns == ["device", "window"]
        assert read.count() == 3


@pytest.mark.parametrize(
    "columns",
    [{"many": "array(id)"}, {"by": "map('a', id)"}, {"long": "make_dt_interval(id)"}],
    ids=["array", "map", "interval"],
)
def test_other_types_and_options_are_written_by_spark_alone(spark, tmp_path, columns):
    other, short = with_columns(spark, "other", columns), answer(spark, "short", 0, 3, NESTED)
    assert not is_at_once(other.frame, "g0")
    both = with_columns(spark, "both", {"at": EVERY_TYPE["at"], "local": EVERY_TYPE["local"]})
    # Arrow would write local times as if they were instants, too.
    assert not is_at_once(both.frame, "g0")
    twice = short.frame.selectExpr("device", "device AS Device")
    assert not is_at_once(twice, "g0")
    options = {"compression": "gzip"} if "many" in columns else {}
    opened(Files(tmp_path, options=options), spark).write(0, Given(other, short))
    found = spark.read.parquet(str(tmp_path / "other"))
    assert found.schema.simpleString() == other.frame.schema.simpleString()
    assert found.count() == 5
    (file,) = (tmp_path / "short").iterdir()
    assert file.name.endswith(".gz.parquet" if options else ".snappy.parquet")


def test_a_query_that_fails_is_not_put_in_place(spark, tmp_path):
    broken = answer(spark, "broken", 0, 3, "raise_error('no such luck') AS n")
    with pytest.raises(Exception, match="batch 3 could not be written") as error:
        opened(Files(tmp_path), spark).write(3, Given(broken, answer(spark, "short", 0, 3, NESTED)))
    assert "no such luck" in (error_line(error.value) or str(error.value))
    assert not list(tmp_path.glob("[a-z]*"))


def test_long_files_have_several_groups_and_there_are_several_of_them(monkeypatch):
    monkeypatch.setattr(arrow_files, "_GROUP", 200)
    monkeypatch.setattr(arrow_files, "_FILE", 2000)
    batches = [
        pa.RecordBatch.from_pydict(
            {
                INDEX: pa.array([number % 2] * 20, pa.int32()),
                "g0": pa.array([{"x": number * 20 + n} for n in range(20)]),
            }
        )
        for number in range(100)
    ]
    maker = arrow_files._FileFormat(struct="g0", metadata={}, codec="none", uses_int96=False)
    made = arrow_files._files(iter(batches), formats={0: maker, 1: maker})
    rows: dict[str, list[int]] = {"0": [], "1": []}
    groups, names = set(), []
    for file in made:
        name = file.column(INDEX)[0].as_py()
        data = file.column("data").view(pa.binary())[0].as_py() + b"1"
        read = pq.ParquetFile(pa.BufferReader(data))
        groups.add(read.num_row_groups)
        names.append(name)
        rows[name.partition("-")[0]] += read.read().column("x").to_pylist()
    assert rows["0"] == [n for n in range(2000) if n // 20 % 2 == 0]
    assert rows["1"] == [n for n in range(2000) if n // 20 % 2 == 1]
    assert len(set(names)) == len(names) > 4
    assert max(groups) > 1
