"""Runs a bucket of keys: takes slices and a watermark, gives the answers of windows that closed.

A slice counts for every window that has not been given out, however late it is. Windows are given
out when the watermark passes their end. What a bucket remembers is small and rewritten with every
batch (`BucketState`); slices are kept in segments, which are not rewritten.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from muntin.runtime.state.data_tree import DataState
from muntin.runtime.state.periodic_tree import PeriodicState
from muntin.runtime.state.segments import SegmentAllocator, Store
from muntin.runtime.state.stream_tree import Interval, StreamTree, TreeState

_KINDS: tuple[type[TreeState], ...] = (PeriodicState, DataState)


@dataclass(frozen=True, kw_only=True)
class StoredDefinition:
    """What a tree keeps, as a hash, and the columns of its components in the order of the hash."""

    digest: str
    columns: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class BucketState:
    """All that a bucket remembers beside its segments; data that outlives the plan."""

    # Windows that end up to here were given out.
    given: int | None = None
    # The number of the next segment.
    number: int = 0
    # What each tree remembers, by its number.
    trees: Mapping[int, TreeState] = field(default_factory=dict)
    # The definitions of trees by their numbers, where nothing else knows them (`find_state`).
    definitions: Mapping[int, StoredDefinition] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Returns the state as JSON."""
        state: dict[str, Any] = {"given": self.given, "number": self.number}
        for kind in _KINDS:
            state[kind.key] = {
                str(number): known.to_json()
                for number, known in self.trees.items()
                if isinstance(known, kind)
            }
        if self.definitions:
            # Checkpoints have this name for them.
            state["lanes"] = {
                str(number): asdict(definition) for number, definition in self.definitions.items()
            }
        return json.dumps(state).encode()

    @staticmethod
    def from_bytes(data: bytes) -> "BucketState":
        """Returns the state that `to_bytes` wrote."""
        fields = json.loads(data)
        return BucketState(
            given=fields["given"],
            number=fields["number"],
            trees={
                int(number): kind.from_json(known)
                for kind in _KINDS
                for number, known in fields[kind.key].items()
            },
            definitions={
                int(number): StoredDefinition(**definition)
                for number, definition in fields.get("lanes", {}).items()
            },
        )


class BucketRuntime:
    """Answers the queries of all trees for the keys of one bucket."""

    def __init__(self, trees: Iterable[StreamTree], store: Store, state: BucketState) -> None:
        self._trees = {tree.number: tree for tree in trees}
        self._store = store
        self.state = state
        # How many partials the last step combined, by tree.
        self.combined: dict[int, int] = {}

    def step(
        self, arrived: Mapping[int, pa.Table], until: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Take in slices and records by tree; yield answers, by tree, of what ends by `until`.

        Rows of trees that the plan no longer has are removed. `state` is updated after the last
        answer.
        """
        for gone in self.state.trees.keys() - self._trees.keys():
            for number in self.state.trees[gone].numbers:
                self._store.remove(number)
        segments = SegmentAllocator(self._store, self.state.number)
        interval = Interval(given=self.given, until=until)
        states: dict[int, TreeState] = {}
        for number, tree in self._trees.items():
            known = self.state.trees.get(number)
            step = tree.step(known, segments, arrived.get(number), interval)
            for answer in step.answers():
                yield number, answer
            states[number] = step.keep()
            self.combined[number] = step.combined
        self.state = replace(self.state, given=until, number=segments.number, trees=states)

    @property
    def given(self) -> int:
        """The watermark up to which answers were given; Spark's begins with 1970."""
        return 0 if self.state.given is None else self.state.given
