"""Run by Python itself when a worker of Spark's starts: takes pyspark from where pip put it.

Spark has its workers import pyspark from a zip file, in which nothing is compiled. That takes most
of a second, and every start of a stream starts a worker, only to ask for the operator's states.
"""

import os
import sys

_ZIP = os.path.join("python", "lib", "pyspark.zip")

_others = [path for path in sys.path if not path.endswith(_ZIP)]
if any(os.path.isdir(os.path.join(path, "pyspark")) for path in _others):
    sys.path[:] = _others
