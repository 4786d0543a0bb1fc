"""A server of Spark Connect in the tests' own JVM, and clients of it, which are processes."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def server(spark: SparkSession) -> str:
    """The address of a server, which costs no JVM of its own."""
    pytest.importorskip("grpc")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    # The plugin takes its port from the settings of the running Spark.
    context = spark.sparkContext._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    plugin = getattr(spark._jvm, "org.apache.spark.sql.connect.SparkConnectPlugin")()
    plugin.driverPlugin().init(context, None)
    return f"sc://localhost:{port}"


@pytest.fixture(scope="session")
def client(server: str) -> Callable[..., Any]:
    """Runs `client.py`: PySpark is of one kind in a process, and here it has a JVM."""

    def run(*arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("client.py")), server, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.split("FOUND")[1])

    return run
