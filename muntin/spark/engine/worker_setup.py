"""Prepares Spark's Python workers: their interpreter, and the kernels that the driver has."""

import logging
import os
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkFiles, TaskContext
from pyspark.sql import SparkSession

from muntin.spark.engine.session_kind import is_connect, is_local

_ARCHIVE = "muntin-kernels.zip"
_LOG = logging.getLogger("muntin")
# The folder of each context's archive, which executors that start later read, too.
_folders: WeakKeyDictionary[SparkContext, TemporaryDirectory[str]] = WeakKeyDictionary()
_sending = Lock()


def prepare_workers(session: SparkSession) -> None:
    """Called before a function is put into a plan.

    On a cluster, executors get the kernels that are on the driver's machine, once per application.
    In local mode the workers read the same folder. With Spark Connect the driver is elsewhere.
    """
    _same_python(session)
    if not is_local(session) and not is_connect(session):
        _send_kernels(session.sparkContext)


def _same_python(session: SparkSession) -> None:
    """In local mode, have the workers run this interpreter, unless the user chose one.

    Spark's own default is whatever `python3` is first on the path, which need not have muntin. The
    workers of a server have the server's.
    """
    if is_local(session):
        session.sparkContext.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)


def _send_kernels(context: SparkContext) -> None:
    # numba takes a second to load, which a driver of local mode does not need.
    from muntin.techniques.compiled.kernel_cache import pack_kernels

    with _sending:
        if context in _folders:
            return
        try:
            folder = _folders[context] = TemporaryDirectory(prefix="muntin-kernels-")
            archive = Path(folder.name, _ARCHIVE)
            if pack_kernels(archive):
                context.addFile(str(archive))
        except (OSError, Py4JError) as error:
            _LOG.warning("executors compile kernels, since the driver's cannot be sent: %s", error)


@cache
def receive_kernels() -> None:
    """Called in a worker before its first kernel is loaded; adds what the driver has sent."""
    if TaskContext.get() is None:
        return
    archive = Path(SparkFiles.get(_ARCHIVE))
    if archive.exists():
        from muntin.techniques.compiled.kernel_cache import unpack_kernels

        unpack_kernels(archive)
