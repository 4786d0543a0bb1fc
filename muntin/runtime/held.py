"""A component in its column of the room."""

from dataclasses import dataclass

from muntin.model.aggregate import Component


@dataclass(frozen=True, kw_only=True)
class Held:
    """A component in its column. Slices that start from `since` on hold all of it."""

    component: Component
    number: str
    slot: str
    since: int | None
