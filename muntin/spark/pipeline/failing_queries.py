"""Finds the queries that a batch fails for: the batch is computed for some of them, and dropped."""

from collections.abc import Callable, Sequence

from muntin.errors import RunError
from muntin.spark.sinks.sink import Answers, Sink

# What a batch fails with when it was computed. A server hands on only the text of an error.
_COMPUTED = "the batch was computed, and not written"


class ComputeOnly(Sink):
    """Computes a batch, then fails, so that Spark does not finish it and its state stays."""

    is_stacked = True

    def write(self, batch: int, answers: Answers) -> None:
        """Compute the answers of all queries."""
        answers.whole().frame.write.format("noop").mode("overwrite").save()
        raise RunError(_COMPUTED)


def is_computed(failure: BaseException) -> bool:
    """Whether a run with `ComputeOnly` failed only because that is what it does at the end."""
    return isinstance(failure, RunError) and str(failure) == _COMPUTED


def find_failing(
    names: Sequence[str], try_queries: Callable[[Sequence[str]], BaseException | None]
) -> dict[str, BaseException]:
    """Returns the queries that fail alone, with their errors; `try_queries` returns why some
    queries fail together. One of n queries takes about 2 log n tries.

    >>> tried = lambda names: ValueError() if {"c", "d"} & set(names) else None
    >>> list(find_failing("abcdefgh", tried))
    ['c', 'd']
    """
    failure = try_queries(names)
    if failure is None:
        return {}
    if len(names) == 1:
        return {names[0]: failure}
    half = len(names) // 2
    return find_failing(names[:half], try_queries) | find_failing(names[half:], try_queries)
