"""A component in its columns of the room."""

from collections.abc import Iterable
from dataclasses import dataclass

from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.table import INTEGER
from muntin.runtime.stream_plan.room import Use, uses_of


@dataclass(frozen=True, kw_only=True)
class Held:
    """A component in its columns. Slices that start from `since` on hold all of it."""

    component: Component
    number: str
    slots: tuple[str, ...]
    since: int | None

    @property
    def name(self) -> str:
        """What its partials are called outside the state, where a column may serve two lanes."""
        name = "_".join(self.slots)
        return f"n_{name}" if self.component.storage == INTEGER else name

    def uses(self, *, ansi: bool) -> dict[str, Use]:
        """What it has in each of its columns."""
        uses = uses_of(self.component, self.number, ansi=ansi)
        return dict(zip(self.slots, uses, strict=True))


def functions_of(all_held: Iterable[Held], *, ansi: bool) -> dict[str, str]:
    """The aggregate function of every column that is in use."""
    return {slot: use.function for held in all_held for slot, use in held.uses(ansi=ansi).items()}
