"""Who computes slices, partials and answers."""

from enum import Enum


class Engine(Enum):
    """Who computes something; a plan names one for each pass, tree and query."""

    # Spark's own operators: GROUP BY, `session_window` and its aggregates.
    SPARK = "spark"
    # The compiled slicer and runtime, in Spark's Python workers.
    COMPILED = "compiled"
    # A class or functions of the user's, which the runtime calls in Python.
    USER = "user"
