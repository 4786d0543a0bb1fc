"""Nothing depends on one process: two executors of their own give the same answers."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
    from pyspark.sql import SparkSession
    import muntin as mt

    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    frame = spark.range(20000).selectExpr(
        "timestamp_micros(id * 1000000) AS ts",
        "id % 17 AS device",
        "CAST(id % 101 AS DOUBLE) AS temp",
    )
    queries = [
        mt.Query(name="a", window=mt.tumbling("1 minute"), aggregates={"m": mt.max("temp")},
                 keys=["device"], time="ts"),
        mt.Query(name="b", window=mt.hopping("1 hour", every="7 minutes"),
                 aggregates={"m": mt.avg("temp"), "n": mt.count()}, keys=["device"], time="ts"),
    ]
    with mt.run(queries, frame) as results:
        for query in queries:
            plain = spark.sql(query.to_sql().fill({"": "{frame}"}), frame=frame)
            missing = plain.exceptAll(results[query.name]).count()
            surplus = results[query.name].exceptAll(plain).count()
            print(query.name, results[query.name].count(), missing, surplus)
    print("executors", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
"""


def test_two_executor_processes_give_the_same_answers(tmp_path):
    script = tmp_path / "cluster.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        check=False,
    )
    lines = done.stdout.split("\n")
    assert "executors 2" in lines, done.stderr[-3000:]
    answers = {line.split()[0]: line.split()[1:] for line in lines if line[:2] in ("a ", "b ")}
    assert set(answers) == {"a", "b"}
    for rows, missing, surplus in answers.values():
        assert int(rows) > 500
        assert (missing, surplus) == ("0", "0")
