"""A pipeline in its own process, killed at random moments: the files hold every answer once."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from muntin.spark.batch import run
from tests.answers import same_value
from tests.spark.streams import MINUTE, SITES, SLIDE, Input, assert_closed, at, events

# A stream takes minutes: `make slow`.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# SITES comes and goes with every other process; the other two run in all of them.
SCRIPT = """
    import sys, os
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pathlib import Path
    from pyspark.sql import SparkSession
    from muntin.spark.pipeline import start
    from tests.spark.streams import MINUTE, SITES, SLIDE, Input

    base, number, last = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "last"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    queries = [MINUTE, SLIDE] + ([SITES] if number % 2 else [])
    pipeline = start(
        queries, Input(spark, base / "in").stream(), checkpoint=base / "check", sink=base / "out",
        buckets=3,
    )
    print("started", flush=True)
    pipeline.process_all_available()
    print("watermark", pipeline.status().watermark, pipeline.complete_from.get("sites"), flush=True)
    pipeline.stop() if last else pipeline.await_termination()
"""


def launch(base: Path, number: int, kind: str) -> subprocess.Popen:
    script = base / "pipeline.py"
    script.write_text(textwrap.dedent(SCRIPT))
    return subprocess.Popen(
        [sys.executable, str(script), str(base), str(number), kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        # Its JVM and its Python workers die with it: all are one group.
        start_new_session=True,
    )


def commits(base: Path) -> int:
    """How many batches Spark has finished."""
    return len([path for path in base.glob("check/spark/commits/*") if path.name.isdigit()])


def killed(kills: int, base: Path, spark, seed: int) -> None:
    rng = random.Random(seed)
    source = Input(spark, base / "in")
    made = events(seed, files=3 * kills + 4, rows=40)
    for number in range(kills):
        source.put(*made[3 * number : 3 * number + 3])
        process = launch(base, number, "killed")
        assert process.stdout.readline().strip() == "started"
        # So many batches further, and then somewhere in the next, however fast the machine is.
        target, patience = commits(base) + rng.randint(0, 3), time.monotonic() + 60
        while commits(base) < target and time.monotonic() < patience:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    source.put(*made[3 * kills :])
    process = launch(base, kills, "last")
    lines = process.communicate(timeout=600)[0].split("\n")
    assert process.returncode == 0
    said = next(line for line in lines if line.startswith("watermark")).split()
    watermark = at(said[1])
    for query in (MINUTE, SLIDE):
        with run([query], source.batch()) as results:
            schema = results[query.name].schema
        found = spark.read.schema(schema).parquet(str(base / "out" / query.name))
        found = spark.createDataFrame(found.collect(), schema)
        assert assert_closed(found, query, source.batch(), watermark) > 3 * kills
    sites = base / "out" / "sites"
    if sites.exists():
        # It was away at times, but what it says is whole and said once.
        with run([SITES], source.batch()) as results:
            expected = {(row["place"], row["window"]): row for row in results["sites"].collect()}
            found = spark.read.schema(results["sites"].schema).parquet(str(sites)).collect()
        assert len({(row["place"], row["window"]) for row in found}) == len(found)
        for row in found:
            assert same_value(row, expected[row["place"], row["window"]])


def test_five_kills(spark, tmp_path):
    killed(5, tmp_path, spark, seed=21)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [20, 100])
def test_many_kills(spark, tmp_path, kills):
    killed(kills, tmp_path, spark, seed=kills)
