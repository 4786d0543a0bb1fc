"""Prices of the operations that a plan is made of, as `muntin calibrate` measures them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from muntin.errors import ModelError, nearest


@dataclass(frozen=True, kw_only=True)
class Prices:
    """The price of each operation, in compiled combines of about three nanoseconds of CPU."""

    # An event read and cut into its slice by Spark.
    event: float = 80.0
    # A (key, window) pair that Spark aggregates alone.
    group: float = 500.0
    # A (key, slice) pair that Spark aggregates and hands to the runtime, in order.
    partial: float = 1400.0
    # An event shuffled by key before it is cut, and a partial that is then handed over.
    moved: float = 150.0
    moved_partial: float = 500.0
    combine: float = 1.0
    # An answer handed back to Spark.
    answer: float = 100.0
    # A partial of a factor window, kept in the runtime.
    kept: float = 20.0
    # An event that plain Spark copies into one more window.
    copy: float = 65.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise ModelError(
                    f"the price {field.name!r} is a number from zero up, not {value!r}"
                )

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
