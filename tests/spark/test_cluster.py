"""Nothing depends on one process: two executors of their own give the same answers."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.support.session import ROOT

pytestmark = pytest.mark.spark

# The rows of both sides are compared here, as multisets: `exceptAll` would be four jobs more.
SCRIPT = """
    from collections import Counter
    import muntin as mt
    from tests.support.session import session

    spark = session("local-cluster[2,1,1024]", {"spark.driver.memory": "1g"})
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


@pytest.mark.slow
def test_two_executor_processes_give_the_same_answers(tmp_path):
    script = tmp_path / "cluster.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    lines = done.stdout.split("\n")
    assert "executors 2" in lines, done.stderr[-3000:]
    answers = {line.split()[0]: line.split()[1:] for line in lines if line[:2] in ("a ", "b ")}
    assert set(answers) == {"a", "b"}
    for rows, missing, surplus in answers.values():
        assert int(rows) > 500
        assert (missing, surplus) == ("0", "0")
