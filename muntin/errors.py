"""Every error muntin raises on purpose: one base class, one subclass per stage."""

from difflib import get_close_matches


class MuntinError(Exception):
    """Base of all errors raised on purpose; catching it catches nothing else."""


class ModelError(MuntinError):
    """A window, aggregate, query or plan that cannot exist."""


class ParseError(MuntinError):
    """Text that is neither a shared query nor a statement Spark could run."""


class PlanError(MuntinError):
    """A workload that the chosen strategy or technique cannot plan."""


class RunError(MuntinError):
    """A plan that cannot run on the data it was given."""


def nearest(found: str, allowed: list[str]) -> str:
    """A hint to append to a message: the nearest allowed word, or all of them."""
    close = get_close_matches(found, allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there is: {', '.join(sorted(allowed))}"
