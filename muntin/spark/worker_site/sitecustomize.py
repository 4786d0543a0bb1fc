"""Run by Python itself when a Python process of a local session starts (`spark/session.py`).

Spark has its processes import pyspark and py4j from zip files, in which nothing is compiled. That
takes most of a second, and Spark starts a process with each start of a stream. Here they are
imported from where they are installed, if that is the release that has the zip files.
"""

import os
import runpy
import sys


def _leave_out_zip_files() -> None:
    for folder in sys.path:
        package = os.path.join(folder, "pyspark")
        if os.path.isdir(package):
            if os.path.isdir(os.path.join(folder, "py4j")):
                zipped = os.path.realpath(os.path.join(package, "python", "lib"))
                sys.path[:] = [path for path in sys.path if _parent(path) != zipped]
            return


def _parent(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))


def _run_the_next() -> None:
    """Run what Python would have run, were this file not there."""
    for folder in sys.path:
        other = os.path.join(folder, "sitecustomize.py")
        if os.path.isfile(other) and not os.path.samefile(other, __file__):
            runpy.run_path(other, run_name="sitecustomize")
            return


_leave_out_zip_files()
_run_the_next()
