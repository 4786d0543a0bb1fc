"""Run by Python itself when a worker of Spark's starts, so that it starts quickly.

Pyspark is taken from where pip put it. Spark has its workers import it from a zip file, in which
nothing is compiled, and that takes most of a second.

The process that asks for a stream's states has another run in its place, if one can be forked that
has loaded all it needs (`tests/support/driver_workers.py`).
"""

import os
import sys

_ZIP = os.path.join("python", "lib", "pyspark.zip")
_ASKS_FOR_STATES = "pyspark.sql.streaming.transform_with_state_driver_worker"

_others = [path for path in sys.path if not path.endswith(_ZIP)]
if any(os.path.isdir(os.path.join(path, "pyspark")) for path in _others):
    sys.path[:] = _others


def _run_elsewhere():
    import json
    import socket

    there = {"environment": dict(os.environ), "folder": os.getcwd()}
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(f"\0muntin-tests-{os.getppid()}")
        except OSError:
            return
        socket.send_fds(asking, [json.dumps(there).encode()], [0, 1, 2])
        code = asking.recv(1)
    os._exit(code[0] if code else 1)


if _ASKS_FOR_STATES in sys.orig_argv:
    _run_elsewhere()
