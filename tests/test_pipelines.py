"""The declarative pipeline of `examples/pipeline` runs, by `spark-pipelines run`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import muntin as mt

EXAMPLE = Path(__file__).parent.parent / "examples" / "pipeline"
COMMAND = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"


@pytest.mark.slow
@pytest.mark.skipif(not COMMAND.exists(), reason="declarative pipelines came with Spark 4.1")
def test_the_pipeline_runs(spark, tmp_path):
    pytest.importorskip("yaml")
    folder = tmp_path / "pipeline"
    shutil.copytree(EXAMPLE, folder)
    spec = folder / "spark-pipeline.yml"
    assert "storage: file:///tmp/" in spec.read_text()
    storage = f"storage: {(tmp_path / 'storage').as_uri()}"
    spec.write_text(re.sub(r"(?m)^storage: .*$", storage, spec.read_text()))
    (folder / "input").mkdir()
    rows = [
        {
            "device": f"d{minute % 3}",
            "temp": float(minute % 7),
            "ts": f"2026-01-01T10:{minute:02d}:30.000Z",
        }
        for minute in range(60)
    ]
    (folder / "input" / "0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    root = str(Path(mt.__file__).parent.parent)
    done = subprocess.run(
        ["bash", str(COMMAND), "run"],
        cwd=folder,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    schema = "device STRING, temp DOUBLE, ts TIMESTAMP"
    readings = spark.read.schema(schema).json(str(folder / "input"))
    found = spark.read.parquet(str(folder / "spark-warehouse" / "dashboard"))
    queries = mt.parse_sql((EXAMPLE / "dashboard.sql").read_text())
    with mt.run(queries, readings) as results:
        # The watermark is a minute behind the last reading.
        expected = results.together().where("window.end <= TIMESTAMP'2026-01-01 10:58:30Z'")
        assert sorted(found.collect(), key=repr) == sorted(expected.collect(), key=repr)
    assert found.count() > 100
    top = spark.read.parquet(str(folder / "spark-warehouse" / "hottest"))
    assert {row["device"] for row in top.collect()} == {"d0", "d1", "d2"}
