"""Prices of the operations that a plan is made of, as `muntin calibrate` measures them, and the
cost models of three papers as price tables."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from muntin.errors import ModelError, nearest

# The cost functions that a price table may name; `optimizer.cost_models` has them.
RUNTIME, WINDOW_READS, OVERLAP = "runtime", "window_reads", "overlap"
MODELS = (RUNTIME, WINDOW_READS, OVERLAP)


@dataclass(frozen=True, kw_only=True)
class Prices:
    """The price of each operation, in compiled combines, and the nanoseconds of one."""

    # An event that Spark reads and adds to its slice, and each further component that it adds to.
    event: float = 80.0
    component: float = 5.0
    # A (key, window) pair that Spark aggregates alone.
    group: float = 500.0
    # A (key, slice) pair that Spark aggregates and hands to compiled code.
    partial: float = 700.0
    # An event that Spark reads and hands to the compiled slicer, each of its columns (and each
    # further component of a partial), and each tree that it is sliced for.
    handed: float = 120.0
    column: float = 20.0
    sliced: float = 6.0
    # A further progression of edges, among which the slice of an event is found.
    progression: float = 1.0
    # A partial that is folded into coarser slices or fewer keys, and one that is packed, moved and
    # put in order for the runtime.
    folded: float = 15.0
    packed: float = 100.0
    # A value of a set of values that is packed, moved and put in order for the runtime.
    entry: float = 60.0
    # An event of a relation that is computed once and stored, since several passes read it.
    stored: float = 150.0
    # A pass whose slices go to compiled code, beyond what a query of Spark's own costs: a job more,
    # and Python workers. It is paid once in a batch, however many events there are.
    started: float = 1e8
    # A record of a data window that Spark sorts and hands to the runtime.
    record: float = 1400.0
    combine: float = 1.0
    # An answer handed back to Spark.
    answer: float = 100.0
    # A partial of a factor window, kept in the runtime.
    kept: float = 20.0
    # An event that plain Spark copies into one more window.
    copy: float = 65.0
    # An event whose value Spark alone puts into the set of values of a window.
    counted: float = 600.0
    # The CPU time of one operation, by which costs become seconds.
    nanoseconds: float = 3.0
    # The name of the cost functions: how many operations there are of each kind.
    model: str = RUNTIME

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ModelError(
                f"no cost model is called {self.model!r}; {nearest(str(self.model), list(MODELS))}"
            )
        for field in fields(self):
            if field.name == "model":
                continue
            value = getattr(self, field.name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise ModelError(
                    f"the price {field.name!r} is a number from zero up, not {value!r}"
                )

    def cpu_seconds_per_hour(self, cost: float) -> float:
        """Returns the CPU seconds for each hour of events of a cost in operations per second."""
        return cost * self.nanoseconds * 1e-9 * 3600

    def to_json(self) -> str:
        """Returns the prices as a JSON object."""
        return json.dumps(asdict(self), indent=2)

    @staticmethod
    def from_json(text: str) -> "Prices":
        """Reads the prices that `to_json` wrote; missing ones take the defaults."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise ModelError(f"prices are a JSON object, and this is none: {error}") from None
        names = [field.name for field in fields(Prices)]
        if not isinstance(values, Mapping):
            raise ModelError(f"prices are a JSON object with {', '.join(names)}, not {values!r}")
        for name in values:
            if name not in names:
                raise ModelError(f"no price is called {name!r}; {nearest(name, names)}")
        return Prices(**values)


SHIPPED = Prices()

# A plan that costs this much is never chosen.
_NEVER = 1e12
_FREE: dict[str, Any] = {each.name: 0.0 for each in fields(Prices) if each.name != "model"}
_PAPER = Prices(**{**_FREE, "event": 1.0, "copy": 1.0, "combine": 1.0, "nanoseconds": 3.0})
# The cost models of three papers. An operation is an event that is read, or a combine.
PAPERS: dict[str, Prices] = {
    # Equation 1: a window reads the events or the intervals of a window. No events are sliced.
    "factor_windows": replace(_PAPER, model=WINDOW_READS),
    # λ + E·Ω for each tree, which slices the events by itself.
    "weave_share": replace(_PAPER, model=OVERLAP, group=1.0, sliced=1.0, folded=_NEVER),
    # λ, and E + Eᵢ·Ωᵢ for each tree, which is folded from the finest slices.
    "triweave": replace(_PAPER, model=OVERLAP, group=1.0, handed=_NEVER, folded=1.0),
}


def read_prices(prices: Prices | str | Path) -> Prices:
    """Returns prices as they are, those of a paper by its name, or those of a file."""
    if isinstance(prices, Prices):
        return prices
    if prices in PAPERS:
        return PAPERS[str(prices)]
    path = Path(prices)
    if isinstance(prices, str) and not path.suffix and not path.exists():
        raise ModelError(
            f"no cost model of a paper and no file is called {prices!r}; "
            f"{nearest(prices, list(PAPERS))}"
        )
    return Prices.from_json(path.read_text(encoding="utf-8"))
