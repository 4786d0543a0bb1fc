"""What the runtime on Spark takes for each thing it does, as `muntin calibrate` measures it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from muntin.errors import ModelError, nearest


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What each thing costs, in compiled combines of some three nanoseconds of CPU."""

    # An event read and cut into its slice by Spark.
    event: float = 80.0
    # A (key, window) pair that Spark aggregates unaided.
    group: float = 500.0
    # A (key, slice) pair that Spark aggregates and hands to the runtime, in order.
    partial: float = 1400.0
    # An event brought to its key's place before it is cut, and a partial that is then handed over.
    moved: float = 150.0
    moved_partial: float = 500.0
    combine: float = 1.0
    # An answer handed back to Spark.
    answer: float = 100.0
    # A partial of a factor window, which stays in the runtime.
    kept: float = 20.0
    # An event copied into one more window, by Spark unaided.
    copy: float = 65.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise ModelError(
                    f"the price {field.name!r} is a number from zero up, not {value!r}"
                )

    def to_json(self) -> str:
        """The prices as a JSON object, one entry each."""
        return json.dumps(asdict(self), indent=2)

    @staticmethod
    def from_json(text: str) -> "Prices":
        """The prices that `to_json` wrote; those that it lacks are the shipped ones."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ModelError(f"prices are a JSON object, and this is none: {error}") from None
        names = [field.name for field in fields(Prices)]
        if not isinstance(found, Mapping):
            raise ModelError(f"prices are a JSON object with {', '.join(names)}, not {found!r}")
        for name in found:
            if name not in names:
                raise ModelError(f"no price is called {name!r}; {nearest(name, names)}")
        return Prices(**found)


SHIPPED = Prices()
