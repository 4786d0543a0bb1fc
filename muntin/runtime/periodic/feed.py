"""Passes the partials of a node, or the slices, to the nodes that read them."""

from collections.abc import Iterator, Mapping

from muntin.model.trees import Node
from muntin.model.windows.window import Window
from muntin.runtime.columns.partials import Partials
from muntin.runtime.periodic.node import ALL_BEGINS, NodeRuntime, Position
from muntin.runtime.storage.layout import Layout


class Feed:
    """Hands the partials of one parent to its readers.

    It keeps the rows that later windows may need: at most those of the longest window, of one key.
    """

    def __init__(self, readers: tuple[tuple[Node, NodeRuntime], ...], layout: Layout) -> None:
        self._readers = readers
        self._storages = {
            component: layout.of(component)
            for _, reader in readers
            for component in reader.techniques
        }
        self.pending: Partials | None = None

    def push(
        self, arrived: Partials, until: Position, begins: Mapping[Window, tuple[int, int]] | None
    ) -> Iterator[tuple[Node, Partials, Position]]:
        """Yields each reader's windows that close now that everything before `until` has arrived.

        They come with the position before which the reader has given out everything. `begins` has
        the first and the last begin that is asked of each window; None asks for all.
        """
        rows = arrived.select(self._storages)
        if self.pending is not None:
            rows = self.pending.concatenate(rows)
        foldings = {
            component: self._storages[component].folding(column, rows.keys)
            for component, column in rows.columns.items()
        }
        for node, reader in self._readers:
            asked = ALL_BEGINS if begins is None else begins[node.window]
            for chunk, reached in reader.push(rows, foldings, until, asked):
                yield node, chunk, reached
        first = min(reader.row for _, reader in self._readers)
        for _, reader in self._readers:
            reader.row -= first
        # Copy, so that the last rows do not keep the whole batch in memory.
        self.pending = rows.rows(first).copy() if first < len(rows) else None
