"""Nothing depends on one process: executors of their own, which come and go, give the answers."""

import os
import subprocess
import sys
import textwrap
import time

import pytest

from tests.support.clusters import Cluster
from tests.support.processes import kill, launch
from tests.support.session import ROOT

pytestmark = pytest.mark.spark

# The rows of both sides are compared here, as multisets: `exceptAll` would be four jobs more.
SCRIPT = """
    from collections import Counter
    import muntin as mt
    from tests.support.session import session

    spark = session("local-cluster[2,1,1024]")
    frame = spark.range(4000).selectExpr(
        "timestamp_micros(id * 5000000) AS ts",
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
            plain = Counter(spark.sql(query.to_sql().fill({"": "{frame}"}), frame=frame).collect())
            ours = Counter(results[query.name].collect())
            print(query.name, ours.total(), (plain - ours).total(), (ours - plain).total())
    print("executors", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
"""


def output(script, folder, *arguments, **environment):
    """The lines that a script writes, and its errors."""
    file = folder / "cluster.py"
    file.write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(file), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )
    return done.stdout.split("\n"), done.stderr[-3000:]


@pytest.mark.slow
def test_two_executor_processes_give_the_same_answers(tmp_path):
    lines, errors = output(SCRIPT, tmp_path)
    assert "executors 2" in lines, errors
    answers = {line.split()[0]: line.split()[1:] for line in lines if line[:2] in ("a ", "b ")}
    assert set(answers) == {"a", "b"}
    for rows, missing, surplus in answers.values():
        assert int(rows) > 500
        assert (missing, surplus) == ("0", "0")


# Batches and a stream, on an executor whose folder of kernels is the first argument.
KERNELS = """
    import sys
    from pathlib import Path
    import muntin as mt
    from tests.support.session import session
    from tests.support.streams import ALL, Input, events

    spark = session("local-cluster[1,1,1024]", {
        "spark.executorEnv.NUMBA_CACHE_DIR": sys.argv[1],
    })
    visits = mt.Query(name="visits", window=mt.session("20 seconds"), keys=["device"],
                      aggregates={"n": mt.count(), "high": mt.max("temp")}, time="ts")
    base, queries = Path(sys.argv[2]), [*ALL, visits]
    source = Input(spark, base / "in")
    source.put(*events(9, files=2, rows=60))
    with mt.run(queries, source.batch()) as results:
        print("batch", *(results[query.name].count() for query in queries))
    with mt.start(queries, source.stream(), checkpoint=base / "check", sink=base / "out",
                  buckets=2) as pipeline:
        pipeline.process_all_available()
    print("done")
"""


@pytest.mark.slow
def test_an_executor_compiles_no_kernel_that_the_driver_has(tmp_path):
    driver, executor = tmp_path / "driver", tmp_path / "executor"

    def run(name, kernels):
        (tmp_path / name).mkdir()
        places = (str(kernels), str(tmp_path / name))
        lines, errors = output(KERNELS, tmp_path, *places, NUMBA_CACHE_DIR=str(driver))
        assert "done" in lines, errors
        return lines

    first = run("first", driver)
    kernels = list(driver.glob("muntin/*.kernel"))
    assert len(kernels) > 5
    # What follows a pickled object is not read, and shows where a file comes from.
    for path in kernels:
        path.write_bytes(path.read_bytes() + b"driver")
    assert run("second", executor) == first
    stored = {path.name: path.read_bytes() for path in executor.glob("muntin/*.kernel")}
    assert stored.keys() == {path.name for path in kernels}
    assert [name for name, data in stored.items() if not data.endswith(b"driver")] == []


# On a cluster from which a worker vanishes, and to which another comes, in each half.
COMING_AND_GOING = """
    import sys, time
    from collections import Counter
    from pathlib import Path
    from pyspark.sql.functions import udf
    import muntin as mt
    from tests.support.session import session
    from tests.support.streams import MINUTE, SITES, SLIDE, Input
    from tests.support.streams import assert_closed, at, events, written

    base = Path(sys.argv[1])
    spark = session(sys.argv[2], {
        "spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-Xms256m",
        "spark.executor.memory": "512m", "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "3", "spark.locality.wait": "0",
    })

    def executors(at_least):
        patience = time.monotonic() + 120
        status = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
        while status().size() - 1 < at_least and time.monotonic() < patience:
            time.sleep(0.2)
        return status().size() - 1

    print("executors", executors(3), flush=True)
    source, made = Input(spark, base / "in"), events(9, files=12, rows=60)
    queries = [MINUTE, SLIDE, SITES]
    source.put(*made[:6])
    with mt.start(queries, source.stream(), checkpoint=base / "check", sink=base / "out",
                  buckets=3) as pipeline:
        print("streaming", flush=True)
        pipeline.process_all_available()
        print("executors", executors(3), flush=True)
        source.put(*made[6:])
        pipeline.process_all_available()
        status = pipeline.status()
    print("batches", status.batches, "late", status.late_rows, flush=True)
    for query in queries:
        found = written(spark, base / "out", query, source)
        print(query.name, assert_closed(found, query, source.batch(), at(status.watermark)))

    @udf("long")
    def slow(number):
        time.sleep(0.003)
        return number

    data = spark.range(0, 4000, 1, 12)
    columns = "timestamp_micros(id * 5000000) AS ts, id % 17 AS device, CAST(id AS DOUBLE) AS temp"
    frame = data.selectExpr(*columns.split(", "))
    slowly = data.select(slow("id").alias("id")).selectExpr(*columns.split(", "))
    asked = [
        mt.Query(name="batch", window=mt.hopping("1 hour", every="7 minutes"), keys=["device"],
                 aggregates={"m": mt.avg("temp"), "n": mt.count()}, time="ts")
    ]
    print("computing", flush=True)
    with mt.run(asked, slowly) as results:
        ours = Counter(results["batch"].collect())
    plain = Counter(spark.sql(asked[0].to_sql().fill({"": "{frame}"}), frame=frame).collect())
    print("executors", executors(3), flush=True)
    print("same", ours == plain, ours.total(), flush=True)
"""


@pytest.mark.slow
def test_workers_come_and_go_while_a_stream_and_a_batch_run(tmp_path):
    with Cluster(tmp_path) as cluster:
        for _ in range(3):
            cluster.join()
        driver = launch(COMING_AND_GOING, tmp_path, cluster.url, stderr=tmp_path / "driver.log")
        lines = []
        try:
            for line in driver.stdout:
                lines.append(line.split())
                if line.startswith(("streaming", "computing")):
                    # Somewhere in a batch.
                    time.sleep(2)
                    cluster.kill(0 if line.startswith("streaming") else 1)
                    cluster.join()
            said = (tmp_path / "driver.log").read_text()[-3000:]
            assert driver.wait(60) == 0, said
        finally:
            kill(driver)
    told = {line[0]: line[1:] for line in lines if line[0] != "executors"}
    assert [line[1] for line in lines if line[0] == "executors"] == ["3", "3", "3"]
    assert int(told["batches"][0]) >= 12
    assert told["batches"][2] == "0"
    assert all(int(told[name][0]) > 5 for name in ("minute", "slide", "sites"))
    assert told["same"][0] == "True"
    assert int(told["same"][1]) > 500
