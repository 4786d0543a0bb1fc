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

from muntin.errors import RunError
from muntin.runtime.state.data_tree import DataState
from muntin.runtime.state.periodic_tree import PeriodicState
from muntin.runtime.state.segments import SegmentAllocator, Store
from muntin.runtime.state.stream_tree import Interval, StreamTree, TreeState

_KINDS: tuple[type[TreeState], ...] = (PeriodicState, DataState)


@dataclass(frozen=True, kw_only=True)
class TreeDefinition:
    """What a tree keeps, as a hash; equal for all orders and names of its queries."""

    digest: str
    # The places of its components in the order in which the digest has them.
    order: tuple[int, ...]
    queries: tuple[str, ...]


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


def find_state(
    state: BucketState, trees: Sequence[StreamTree], definitions: Mapping[int, TreeDefinition]
) -> tuple[BucketState, list[StreamTree]]:
    """Returns a bucket's state under the numbers of a plan's trees, and the trees with the columns
    that they have in it; refuses a plan whose trees are not those stored.

    A state without definitions, which an earlier muntin left, is taken as it is.
    """
    numbers = dict(zip(definitions, definitions, strict=True))
    trees = list(trees)
    if state.definitions:
        numbers = _stored_numbers(state.definitions, definitions)
        for place, tree in enumerate(trees):
            columns = state.definitions[numbers[tree.number]].columns
            order = definitions[tree.number].order
            trees[place] = tree.with_columns(dict(zip(order, columns, strict=True)))
    stored = {
        tree.number: StoredDefinition(
            digest=definitions[tree.number].digest,
            columns=[
                tree.layout.storages[place].columns for place in definitions[tree.number].order
            ],
        )
        for tree in trees
    }
    states = {now: state.trees[old] for now, old in numbers.items() if old in state.trees}
    return replace(state, trees=states, definitions=stored), trees


def _stored_numbers(
    stored: Mapping[int, StoredDefinition], definitions: Mapping[int, TreeDefinition]
) -> dict[int, int]:
    """Returns the number under which each tree of a plan is stored."""
    left = dict(stored)
    numbers: dict[int, int] = {}
    others: list[str] = []
    for number, known in definitions.items():
        same = [old for old, tree in left.items() if tree.digest == known.digest]
        if same:
            numbers[number] = same[0]
            del left[same[0]]
        else:
            others += known.queries
    if others or left:
        what = ", ".join(map(repr, others)) or "one or more that are missing"
        raise RunError(
            f"the checkpoint of this stream has the state of other queries: it differs by {what}. "
            f"A stream of mt.stream continues only with the same queries, types, buckets and "
            f"spark.sql.ansi.enabled; start it with those or with a new checkpoint, or use "
            f"mt.start, whose queries can change"
        )
    return numbers
