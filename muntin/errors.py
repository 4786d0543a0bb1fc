"""The errors that muntin raises on purpose: one base class, one subclass per stage."""

from difflib import get_close_matches


class MuntinError(Exception):
    """Base of all errors raised on purpose; catching it catches nothing else."""


class ModelError(MuntinError):
    """A window, aggregate, query or plan that cannot exist."""


class ParseError(MuntinError):
    """SQL that Spark is certain to refuse.

    `line` and `column` count from 1; they are None if the error is not at one position. `message`
    is the error without its place.
    """

    def __init__(self, message: str, *, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f" (line {line}, column {column})"
        super().__init__(message + place)
        self.message = message
        self.line = line
        self.column = column


class PlanError(MuntinError):
    """A workload that the chosen strategy or technique cannot plan."""


class RunError(MuntinError):
    """A plan that cannot run on the data it was given."""


class RefusedError(RunError):
    """A query that Spark rejects: `query` is its name.

    `fragment` is the piece of the statement that Spark points at, if any.
    """

    def __init__(self, query: str, spark_message: str, fragment: str | None = None) -> None:
        super().__init__(f"query {query!r}: {spark_message}")
        self.query = query
        self.spark_message = spark_message
        self.fragment = fragment


def type_name(value: object) -> str:
    """Returns the name of a value's type, with the library that defines it, for error messages.

    >>> type_name([1]), type_name("text")
    ('list', 'str')
    """
    kind = type(value)
    library = kind.__module__.split(".")[0]
    return kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"


def not_a_dataframe(name: str, value: object) -> RunError:
    """Returns the error for a value that is no DataFrame of Spark's."""
    is_table = type_name(value).split(".")[0] in {"pandas", "polars", "pyarrow"}
    hint = "; spark.createDataFrame makes one of it" if is_table else ""
    return RunError(f"{name} must be a DataFrame of Spark's, not {type_name(value)}{hint}")


def nearest(word: str, allowed: list[str]) -> str:
    """Returns a hint to append to a message: the nearest allowed word, or all of them."""
    close = get_close_matches(word, allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there is: {', '.join(sorted(allowed))}"
