"""One JVM for all processes that share the tests: it starts, loads classes and warms up once.

The process that hands out the tests starts it when one that runs tests wants it, and ends with it.
Each process that runs tests has a connection of its own to that JVM, so that Spark calls Python
functions in the process that gave them, and a session of its own: settings, views, streams.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import STDOUT
from threading import Thread
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tests.support.gateway import remember_names
from tests.support.session import name_python, session, settings

_PORT = "PYSPARK_GATEWAY_PORT"
_SECRET = "PYSPARK_GATEWAY_SECRET"
_FAILURE = "failure"
_WANTED = "wanted"
_ADDRESS = "address.json"
_LOOK_S = 0.1
_LONGEST_START_S = 120.0
# What all processes run at a time, in partitions as small as in one process.
_SLOTS = "local[6]"
_SETTINGS = {"spark.default.parallelism": "2", "spark.driver.memory": "4g"}


def start_when_wanted(folder: Path, more: Mapping[str, str]) -> None:
    """Has a thread start the JVM as soon as some process has called `want`."""
    Thread(target=_start, args=(folder, more), daemon=True).start()


def want(folder: Path) -> None:
    """Asks for the JVM, which then starts in the background."""
    (folder / _WANTED).touch()


def attach(folder: Path) -> SparkSession:
    """Waits for the JVM and returns a session in it, of this process."""
    remember_names()
    name_python()
    start = _connect(_address(folder))
    server = start.jvm.Py4JServer(start.jvm.SparkConf())
    server.start()
    gateway = _connect({_PORT: str(server.getListeningPort()), _SECRET: server.secret()})
    start.close()
    java = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    return SparkSession(context, gateway.jvm.SparkSession.builder().getOrCreate().newSession())


def _start(folder: Path, more: Mapping[str, str]) -> None:
    while not (folder / _WANTED).exists():
        time.sleep(_LOOK_S)
    output = folder / "output"
    try:
        told = _started({**_SETTINGS, **more}, output)
    except Exception as error:
        told = {_FAILURE: f"{error}\n{output.read_text()[-3000:]}"}
    # Others see it whole or not at all.
    written = folder / "written"
    written.write_text(json.dumps(told))
    written.rename(folder / _ADDRESS)


def _started(more: Mapping[str, str], output: Path) -> dict[str, str]:
    """Starts the JVM and its Spark, and returns the address of the JVM."""
    name_python()
    conf = SparkConf().setAll(list(settings(more).items()))
    with output.open("w") as file:
        gateway = launch_gateway(conf, {"stdout": file, "stderr": STDOUT})
    SparkContext._ensure_initialized(gateway=gateway)
    session(_SLOTS, more)
    parameters = gateway.gateway_parameters
    return {_PORT: str(parameters.port), _SECRET: parameters.auth_token}


def _address(folder: Path) -> dict[str, str]:
    end = time.monotonic() + _LONGEST_START_S
    while not (folder / _ADDRESS).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no JVM after {_LONGEST_START_S:.0f} seconds")
        time.sleep(_LOOK_S)
    address = dict(json.loads((folder / _ADDRESS).read_text()))
    if _FAILURE in address:
        raise RuntimeError(f"no JVM: {address[_FAILURE]}")
    return address


def _connect(address: Mapping[str, str]) -> Any:
    """Connects as pyspark does when another process has started the JVM."""
    os.environ.update(address)
    try:
        return launch_gateway()
    finally:
        # Processes that a test starts have JVMs of their own.
        for name in address:
            del os.environ[name]
