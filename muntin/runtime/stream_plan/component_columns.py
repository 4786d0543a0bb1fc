"""A component in its column of a lane's slices."""

from dataclasses import dataclass

from muntin.model.aggregates.aggregate import Component


@dataclass(frozen=True, kw_only=True)
class Held:
    """A component in its column. Slices that start from `since` on hold all of it."""

    component: Component
    number: str
    # The column, or the stem of its columns where it has several; never used again in its lane.
    name: str
    since: int | None
