"""Where windows begin and end, as SQL over the answers of a runtime."""

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window
from muntin.runtime.data_windows.tree import END
from muntin.runtime.periodic.tree import BEGIN


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The begin and the end of windows, in microseconds."""

    begin: str
    end: str
    # Whether Spark's schema lets the window be null: those that it copies events into.
    is_nullable: bool = False

    @staticmethod
    def of(windows: Sequence[Window | DataWindow], index: str | None = None) -> "Bounds":
        """Returns the bounds of rows of some windows; the number of a row's window is at `index`.

        Data windows have an end of their own; among others they have none here.
        """
        periodic = [window for window in windows if isinstance(window, Window)]
        if not periodic:
            return Bounds(begin=BEGIN, end=END)
        sizes = [f"{window.size}L" if isinstance(window, Window) else "0L" for window in windows]
        return Bounds(
            begin=_begin(windows, index),
            end=f"{BEGIN} + {pick(sizes, index)}",
            is_nullable=any(not window.is_tumbling and not window.grows for window in periodic),
        )


def _begin(windows: Sequence[Window | DataWindow], index: str | None) -> str:
    """Returns the begin; `Window` says how rows of one that grows are known."""
    cuts = [
        (window.size - window.slide, window.offset, window.size)
        if isinstance(window, Window) and window.grows
        else (0, 0, 1)
        for window in windows
    ]
    if not any(lead for lead, _, _ in cuts):
        return BEGIN
    lead, phase, period = (
        pick([f"{value}L" for value in values], index) for values in zip(*cuts, strict=True)
    )
    return f"{BEGIN} + {lead} - pmod({BEGIN} + {lead} - {phase}, {period})"


def pick(values: Sequence[str], index: str | None) -> str:
    """Returns SQL for the value at a row's index; None if all are equal."""
    if len(set(values)) == 1:
        return values[0]
    return f"element_at(array({', '.join(values)}), {index} + 1)"
