"""A tree as the stateful operator runs it, and the state that it keeps between two batches.

`periodic_tree` and `data_tree` implement this interface. A batch takes one step of every tree: it
takes in what has arrived, gives the answers of the windows that the watermark has passed, and
returns the state for the next batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from muntin.model.trees import Tree
from muntin.model.windows import Slicing, Window
from muntin.runtime.columns.partials import Bools
from muntin.runtime.state.segments import SegmentAllocator
from muntin.runtime.storage.layout import Layout

# The column with the start of a slice, or with the instant of a record.
START = "start"
# The column with the number of events of a slice or record that has arrived.
EVENTS = "events"


class TreeState(ABC):
    """What a tree remembers between two batches; its rows are in the store, by number."""

    # The name of this kind of state in a bucket's JSON.
    key: ClassVar[str]

    @property
    @abstractmethod
    def numbers(self) -> list[int]:
        """The numbers of all its segments in the store."""

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """The rows and bytes of each level that it keeps."""
        return []

    @abstractmethod
    def to_json(self) -> Any:
        """Returns the state as data for `json.dumps`."""

    @staticmethod
    @abstractmethod
    def from_json(data: Any) -> "TreeState":
        """Returns the state that `to_json` wrote."""


class TreeStep(ABC):
    """One step of a tree: call `answers`, then `keep`."""

    # How many partials it combined.
    combined = 0

    @abstractmethod
    def answers(self) -> Iterator[pa.RecordBatch]:
        """Yields the answers of the windows that have closed."""

    @abstractmethod
    def keep(self) -> TreeState:
        """Store what later windows need, and return the state for the next step."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The watermarks that a step starts and ends with: answers up to `given` were given before."""

    given: int
    until: int


@dataclass(frozen=True, kw_only=True)
class StreamTree(ABC):
    """A tree of a running plan: its number, which is never reused, and where its columns are."""

    number: int
    tree: Tree
    # The columns of its keys and partials.
    layout: Layout

    @property
    @abstractmethod
    def slices(self) -> tuple[Layout, Slicing] | None:
        """The partials that the slicer makes for it; None: it takes the events as they are."""

    @property
    @abstractmethod
    def arriving_columns(self) -> tuple[str, ...]:
        """The names of the columns that arrive for it, in their order."""

    @abstractmethod
    def step(
        self,
        state: TreeState | None,
        segments: SegmentAllocator,
        arrived: pa.Table | None,
        interval: Interval,
    ) -> TreeStep:
        """Returns the step that takes in what has arrived; `state` is that of the step before."""

    def count_arrived(self, table: pa.Table) -> tuple[int, int] | None:
        """Returns how many events and keys have arrived, if planners need to know."""
        return None

    def with_columns(self, columns: Mapping[int, Sequence[str]]) -> "StreamTree":
        """Returns the tree with other names for the columns of some components, by their place."""
        return self

    def is_late(self, node: int, starts: Any, given: int) -> Bools:
        """Returns which slices or records came too late for a window of a node, given their starts:
        those whose first window was given out, or which data windows have passed."""
        window, step = self.tree.nodes[node].window, self.tree.record_step
        late: Bools
        if step is not None:
            late = starts < given - given % step
            return late
        assert isinstance(window, Window)
        first = window.first_after(starts - window.size)
        late = (first <= starts) & (first + window.size <= given)
        return late


def concatenate(tables: Sequence[pa.Table | None]) -> pa.Table | None:
    """Returns the rows of some tables in one; None if there are none."""
    there = [table for table in tables if table is not None and table.num_rows]
    return pa.concat_tables(there, promote_options="permissive") if there else None
