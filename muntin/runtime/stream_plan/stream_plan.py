"""A plan that runs on a stream: the columns of its state, since when, and for which queries.

It is data: the checkpoint has it as JSON (`stream_plan_json`). A change of queries makes a new one
from the old (`change_plan`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.plan_json import definition, grouping_to_json
from muntin.model.query import PlainQuery, Query
from muntin.model.time import format_duration
from muntin.model.windows import Window
from muntin.runtime.state.bucket import TreeDefinition
from muntin.runtime.stream_plan.stored_tree import StoredTree, text_of
from muntin.runtime.stream_plan.value_types import ValueTypes


@dataclass(frozen=True, kw_only=True)
class LeavingQuery:
    """A query that has moved to another tree, as its old tree still answers it."""

    # What its user calls it.
    name: str
    # The old tree gives the windows that begin from `first` on and before `until`.
    first: int | None
    until: int

    def is_done(self, window: Window, given: int | None) -> bool:
        """Whether its windows have been given out, if all that end by `given` have been."""
        last = window.first_after(self.until - 1) - window.slide
        return (given is not None and last + window.size <= given) or (
            self.first is not None and last < self.first
        )


@dataclass(frozen=True, kw_only=True)
class DroppedQuery:
    """A query that the stream continues without, because it failed."""

    query: Query | PlainQuery
    error: str


@dataclass(frozen=True, kw_only=True)
class StreamPlan:
    """All that a checkpoint knows of the plan that runs on it."""

    plan: Plan
    # Those of the plan, in their order.
    trees: tuple[StoredTree, ...]
    # Keys are spread over these.
    buckets: tuple[int, ...]
    # The delay of the watermark, and how long slices are kept for queries to come; microseconds.
    delay: int
    retain: int
    # Whether integer sums notice overflow, as under ANSI.
    ansi: bool
    complete_from: Mapping[str, int | None]
    # The number of the next new tree.
    next_number: int
    # How often the queries have changed.
    generation: int = 0
    # Queries that have moved: from which begin on their trees answer them. And, under names of
    # their own, the same queries in the trees that they have left.
    moved_at: Mapping[str, int] = field(default_factory=dict)
    leaving: Mapping[str, LeavingQuery] = field(default_factory=dict)
    # Spark's types of what the queries read; empty if an earlier muntin stored the plan.
    types: ValueTypes = field(default_factory=dict)
    # Queries that failed and were left out since, by name.
    dropped: Mapping[str, DroppedQuery] = field(default_factory=dict)
    # Whether the queries of DataFrames depend on their own DataFrame alone; in an earlier muntin,
    # what all had in common was in none of them.
    own_definitions: bool = True
    # Joins of the stream, or filtered rows, that the watermark alone follows or has followed in an
    # earlier run. It does not tell up to when other rows were read.
    followed_relations: tuple[str, ...] = ()

    def user_name(self, name: str) -> str:
        """Returns what a query is called by its user."""
        return self.leaving[name].name if name in self.leaving else name

    @property
    def user_queries(self) -> tuple[Query | PlainQuery, ...]:
        """The queries that users asked for."""
        return tuple(query for query in self.plan.queries if query.name not in self.leaving)

    @property
    def first_begins(self) -> dict[str, int | None]:
        """The begin of each query's first complete window; None if it has seen every event."""
        found = dict(self.complete_from)
        for query in self.user_queries:
            first = found.get(query.name)
            if first is not None and isinstance(query, Query) and isinstance(query.window, Window):
                found[query.name] = query.window.start_of(first)
        return found

    def dropped_among(self, queries: Iterable[Query | PlainQuery]) -> list[str]:
        """Returns which of some queries were dropped and have the same definition as then."""
        return [
            query.name
            for query in queries
            if query.name in self.dropped
            and definition(query) == definition(self.dropped[query.name].query)
        ]

    def limits(self, name: str) -> tuple[int | None, int | None]:
        """Returns from which begin on, and before which, a query's tree gives its windows."""
        if name in self.leaving:
            return self.leaving[name].first, self.leaving[name].until
        return self.moved_at.get(name, self.complete_from[name]), None

    def not_done(self, given: int | None) -> set[str]:
        """Returns those of `leaving` that have windows to give; all up to `given` were given."""
        found = set()
        for name, leaving in self.leaving.items():
            query = self.plan.query(name)
            assert isinstance(query, Query)
            if not leaving.is_done(query.periodic_window, given):
                found.add(name)
        return found


def check_same(running: StreamPlan, *, delay: int, ansi: bool, buckets: int | None) -> None:
    """Refuse options that differ from those of the first start and are fixed there."""
    if delay != running.delay:
        raise RunError(
            f"the checkpoint was started with a watermark of {format_duration(running.delay)}, not "
            f"{format_duration(delay)}; start with that one, or with a new checkpoint"
        )
    if ansi != running.ansi:
        raise RunError(
            f"the checkpoint was started with spark.sql.ansi.enabled = "
            f"{str(running.ansi).lower()}; set it so, or start with a new checkpoint"
        )
    if buckets is not None and buckets != len(running.buckets):
        raise RunError(
            f"the checkpoint was started with {len(running.buckets)} buckets, not {buckets}; "
            f"leave buckets out, or start with a new checkpoint"
        )


def tree_definitions(running: StreamPlan) -> dict[int, TreeDefinition]:
    """Returns what identifies the state of each tree of a plan, by its number.

    A plan without a checkpoint of muntin's own numbers its trees by their place. At the next start
    its queries may be in another order, under other names, or be others. So each bucket of keys
    stores the definitions of its trees beside its state, which is found by them.
    """
    return {stored.number: _definition(stored, running) for stored in running.trees}


def _definition(stored: StoredTree, running: StreamPlan) -> TreeDefinition:
    grouping = stored.tree.grouping
    identity, order = stored.identity(running.types)
    whole = {
        "grouping": grouping_to_json(grouping),
        "keys": [[name, running.types.get(name)] for name in (grouping.time, *grouping.keys)],
        "key_columns": list(stored.key_columns),
        # Keys are in other buckets if there are more or fewer; sums may have two columns.
        "buckets": list(running.buckets),
        "ansi": running.ansi,
        **identity,
    }
    digest = sha256(text_of(whole).encode()).hexdigest()[:32]
    return TreeDefinition(digest=digest, order=order, queries=stored.tree.queries)
