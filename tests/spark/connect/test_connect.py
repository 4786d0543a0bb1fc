"""On Spark Connect batches give what Spark gives, and what cannot run there says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytest.importorskip("grpc")


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_of_connect_gives_what_spark_gives():
    # The server is one of its own: PySpark starts it for a `remote` that is a master.
    paths = os.pathsep.join([str(ROOT / "tests" / "support" / "site"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("client.py")), "local[2]"],
        env={**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.split("FOUND")[1])
    assert found["batch"]["different"] == []
    assert found["batch"]["trees"] == 2
    assert found["batch"]["together"] > 0
    assert found["frames"]["same"]
    assert "Spark Connect does not show its plan" in found["frames"]["explained"]
    assert found["stream"]["different"] == []
    assert found["stream"]["rows"] > 0
    assert "mt.start does not run on Spark Connect" in found["stream"]["refused"]
