"""A tree as the slicer makes its slices, or its records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.aggregates.aggregate import Component
from muntin.errors import PlanError
from muntin.model.windows import Slicing
from muntin.runtime.storage.layout import Layout


@dataclass(frozen=True, kw_only=True)
class SlicerTree:
    """The slices of one tree: which rows they are made of, their keys, edges and components.

    It has columns in place of expressions, and nothing of what is computed from the slices, so that
    workers that only slice get no more than they need.
    """

    # Identifies the tree in the packed rows.
    number: int
    # Its keys are columns of the rows; `start` and the columns of components are what is packed.
    layout: Layout
    # Where its slices begin.
    slicing: Slicing
    # Rows that are its: those that have all bits of these masks set in these integer columns.
    masks: Mapping[str, int] = field(default_factory=dict)
    # The columns of each component's arguments, as `lifted` takes them; None: rows are partials.
    values: Mapping[Component, tuple[str, ...]] | None = None
    # Whether rows are its slices already: distinct (keys, start), cut at its edges. They are
    # selected and packed, not grouped.
    is_whole: bool = False
    # Columns that are packed as they are, if rows are.
    carried: tuple[str, ...] = ()
    # Few keys are split by time, too: into parts of so many microseconds, for windows that are at
    # most `longest` long. Each slice goes to every part that reads it.
    part_width: int | None = None
    longest: int = 0

    def __post_init__(self) -> None:
        if self.part_width is not None and (self.part_width < 1 or self.longest < 1):
            raise PlanError(
                f"parts need a width and the longest window, both above zero, not "
                f"{self.part_width} and {self.longest}"
            )
