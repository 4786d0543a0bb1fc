"""Forks the process that Spark starts with each stream, from one that has loaded what it needs.

Spark starts it outside its parent of workers, only to ask for the operator's states. A new process
takes nearly half a second to load pyspark. So `site/sitecustomize.py` has this one fork another in
its place: with its environment, its folder and its standard streams.
"""

import json
import os
import runpy
import signal
import socket
from contextlib import suppress

# Loaded for those that are forked.
import pyspark.sql.streaming.proto.StateMessage_pb2
import pyspark.sql.streaming.stateful_processor_api_client
import pyspark.sql.streaming.stateful_processor_util
import pyspark.worker  # noqa: F401

import muntin.spark.stream.bucket_processor  # noqa: F401

MODULE = "pyspark.sql.streaming.transform_with_state_driver_worker"
# How often it looks whether its parent is still there.
_LOOK_S = 2.0
_LONGEST = 1 << 20


def serve() -> None:
    """Forks a process that serves those whose parent is that of this one, a JVM."""
    with socket.socket(socket.AF_UNIX) as listening:
        # A name, not a file. One process serves all of a JVM's parents of workers.
        try:
            listening.bind(f"\0muntin-tests-{os.getppid()}")
        except OSError:
            return
        listening.listen(16)
        if os.fork() == 0:
            _let_go_of_streams()
            _accept(listening)
            os._exit(0)


def _let_go_of_streams() -> None:
    """Else the JVM would wait for what is written to them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)


def _accept(listening: socket.socket) -> None:
    parent = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening.settimeout(_LOOK_S)
    while os.getppid() == parent:
        with suppress(TimeoutError):
            asking, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _run(asking)
            asking.close()


def _run(asking: socket.socket) -> None:
    """Does what the process that asks was started for; it waits until this one has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        asking.settimeout(None)
        told, streams, _, _ = socket.recv_fds(asking, _LONGEST, 3)
        there = json.loads(told)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(there["environment"])
        os.chdir(there["folder"])
        runpy.run_module(MODULE, run_name="__main__")
        code = 0
    finally:
        with suppress(OSError):
            asking.send(bytes([code]))
        os._exit(code)
