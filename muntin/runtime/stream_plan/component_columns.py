"""A component in its column of a lane's slices."""

from collections.abc import Collection
from dataclasses import dataclass

from muntin.model.aggregates.aggregate import Component
from muntin.runtime.stream_plan.value_types import ValueTypes, arguments_of


@dataclass(frozen=True, kw_only=True)
class Held:
    """A component in its column. Slices that start from `since` on hold all of it."""

    component: Component
    number: str
    # The column, or the stem of its columns where it has several; never used again in its lane.
    name: str
    since: int | None

    def reads(self, expressions: Collection[str]) -> bool:
        """Whether an argument of the component is among some expressions."""
        return any(sql in expressions for sql in arguments_of(self.component))

    def types(self, types: ValueTypes) -> list[str | None]:
        """Returns the types of the arguments; None for those that are not known."""
        return [types.get(sql) for sql in arguments_of(self.component)]
