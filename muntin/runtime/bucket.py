"""A bucket of keys at run time: slices and a watermark in, the answers of windows it passed out.

All keys of a bucket are open up to the same instant. What a bucket remembers is small and rewritten
with every batch (`BucketState`); the slices themselves are kept in runs, which are not.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.model.plan import Tree
from muntin.runtime.layout import INTEGER, Layout
from muntin.runtime.order import ordered
from muntin.runtime.runs import Run, Runs, Store, runs_from_json, runs_to_json
from muntin.runtime.tree import TreeRuntime, begins_between


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A tree of a running plan: its number, never used again, and where its columns are."""

    number: int
    tree: Tree
    layout: Layout
    # How long slices are kept beyond what windows need, in microseconds.
    retain: int = 0

    @property
    def span(self) -> int:
        """How far behind the watermark a slice may start and still be kept."""
        return max(self.retain, *(node.window.size for node in self.tree.nodes))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its slices."""
        kept = (name for one in self.layout.kept for name in one.columns)
        return (*self.layout.key_columns, self.layout.start, *kept)


@dataclass(frozen=True, kw_only=True)
class BucketState:
    """All that a bucket remembers beside its runs; data that outlives the plan."""

    # Windows that end up to here were given out.
    given: int | None = None
    # The number of the next run.
    number: int = 0
    runs: Mapping[int, list[Run]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The state as JSON."""
        runs = {str(lane): runs_to_json(one) for lane, one in self.runs.items()}
        return json.dumps({"given": self.given, "number": self.number, "runs": runs}).encode()

    @staticmethod
    def from_bytes(data: bytes) -> "BucketState":
        """The state that `to_bytes` wrote."""
        found = json.loads(data)
        return BucketState(
            given=found["given"],
            number=found["number"],
            runs={int(lane): runs_from_json(one) for lane, one in found["runs"].items()},
        )


class BucketRuntime:
    """Answers of all lanes for the keys of one bucket."""

    def __init__(self, lanes: Iterable[Lane], store: Store, state: BucketState) -> None:
        self._lanes = {lane.number: lane for lane in lanes}
        self._store = store
        self.state = state

    def step(
        self, arrived: Mapping[int, pa.Table], until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Take in slices by lane, all of which end up to `until`, the watermark; give answers.

        Slices of lanes that the plan no longer has are forgotten. `state` is new when all answers
        have been taken.
        """
        number = self.state.number
        runs: dict[int, list[Run]] = {}
        for gone in self.state.runs.keys() - self._lanes.keys():
            Runs(self._store, self.state.runs[gone], start="").drop(None)
        for lane in self._lanes.values():
            start = lane.layout.start
            kept = Runs(self._store, self.state.runs.get(lane.number, []), start=start)
            new = arrived.get(lane.number)
            if new is not None and new.num_rows:
                new = new.select(lane.columns)
            yield from self._answers(lane, kept, new, until)
            horizon = until - lane.span
            kept.drop(horizon)
            if new is not None and new.num_rows:
                number = kept.add(new, number)
                kept.drop(horizon)
            if kept.runs:
                runs[lane.number] = kept.runs
        self.state = BucketState(given=until, number=number, runs=runs)

    def _answers(
        self, lane: Lane, kept: Runs, new: pa.Table | None, until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        after = self.state.given
        begins = begins_between(lane.tree, after=after, until=until)
        firsts = [first for first, last in begins.values() if first <= last]
        if not firsts:
            return
        tables = [conformed(table, lane) for table in kept.since(min(firsts))]
        if new is not None:
            tables.append(new)
        if not tables:
            return
        rows = pa.concat_tables(tables, promote_options="permissive")
        batch = ordered(rows, lane.layout.key_columns, lane.layout.start)
        runtime = TreeRuntime(lane.tree, lane.layout)
        for answer in runtime.between(batch, after=after, until=until):
            yield lane.number, answer

    def due(self) -> int | None:
        """When to be called next even if nothing arrives; none where nothing is retained.

        At the next edge of what is retained: there windows end, also those of a query that comes
        later and reads these slices, and there slices expire.
        """
        if self.state.given is None:
            return None
        edges = [
            self._lanes[number].tree.slicing.edge_from(self.state.given + 1)
            for number in self.state.runs
        ]
        return min(edges, default=None)


def conformed(table: pa.Table, lane: Lane) -> pa.Table:
    """Retained rows with the lane's columns: what an earlier plan did not keep is null.

    No answer reads such a null: a query is complete only from where all it reads is kept.
    """
    missing = {
        name: pa.nulls(table.num_rows, pa.int64() if one.number == INTEGER else pa.float64())
        for one in lane.layout.kept
        for name in one.columns
        if name not in table.column_names
    }
    return pa.table(
        {name: missing[name] if name in missing else table.column(name) for name in lane.columns}
    )
