"""Where a stream is cut: edges as arithmetic progressions, and the slices between them."""

from dataclasses import dataclass

from muntin.errors import ModelError
from muntin.model.windows.window import Window


@dataclass(frozen=True, kw_only=True, order=True)
class Edges:
    """The instants `t ≡ phase (mod period)`: one arithmetic progression of edges."""

    period: int
    phase: int = 0

    def __post_init__(self) -> None:
        if self.period <= 0:
            raise ModelError(f"edges need a period above zero, not {self.period}")
        object.__setattr__(self, "phase", self.phase % self.period)

    def includes(self, other: "Edges") -> bool:
        """Whether every edge of `other` is one of these."""
        return other.period % self.period == 0 and (other.phase - self.phase) % self.period == 0


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """Where the stream is cut: a union of progressions; one alone means slices of equal width."""

    edges: tuple[Edges, ...]
    # Slices per second of event time.
    rate: float

    def __post_init__(self) -> None:
        if not self.edges:
            raise ModelError("a slicing needs at least one edge")

    @property
    def width(self) -> int | None:
        """The width of the slices, or None if they differ."""
        return self.edges[0].period if len(self.edges) == 1 else None

    def cuts(self, window: Window) -> bool:
        """Whether every begin and end of `window` is an edge."""
        begins = Edges(period=window.slide, phase=window.offset)
        ends = Edges(period=window.slide, phase=window.offset + window.size)
        return all(any(edges.includes(needed) for edges in self.edges) for needed in (begins, ends))

    def includes(self, other: "Slicing") -> bool:
        """Whether every edge of `other` is one of these."""
        return all(any(edges.includes(needed) for edges in self.edges) for needed in other.edges)

    def edge_from(self, instant: int) -> int:
        """Returns the first edge at or after an instant."""
        return min(instant + (edges.phase - instant) % edges.period for edges in self.edges)
