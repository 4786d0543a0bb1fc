"""A workload: queries that run together, figures of their events, and the options of the plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from muntin.errors import ModelError
from muntin.model.prices import SHIPPED, Prices
from muntin.model.query import Grouping, PlainQuery, Query, parts_of
from muntin.sql_text import SqlText


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of a plan, apart from its strategy."""

    # The technique that every periodic window must use; None leaves the choice to the planner.
    technique: str | None = None
    # The slicing of periodic windows, by its name in `optimizer.edges.SLICINGS`; None: the cheaper.
    slicing: str | None = None
    # Whether to choose techniques by the worst time of a single answer, not by total work.
    latency: bool = False
    # Whether answers may differ from Spark's within an error bound; see `optimizer.normalise`.
    approximate: bool = False

    def or_else(self, other: "PlanOptions") -> "PlanOptions":
        """Returns these options; those that are not set are taken from `other`."""
        return PlanOptions(
            technique=self.technique or other.technique,
            slicing=self.slicing or other.slicing,
            latency=self.latency or other.latency,
            approximate=self.approximate or other.approximate,
        )


# The slicing that cuts at the begins of windows alone.
CUTTY = "cutty"
NO_OPTIONS = PlanOptions()


# Events per second and live keys, if neither was given or measured.
ASSUMED_RATE, ASSUMED_KEYS = 1000.0, 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """Queries that run together, with the figures, prices and options that the planner needs."""

    queries: tuple[Query | PlainQuery, ...]
    rate: float = ASSUMED_RATE
    keys: float = ASSUMED_KEYS
    # Whether `rate` and `keys` were given or measured, rather than assumed.
    rate_known: bool = False
    keys_known: bool = False
    # Live keys of sets of key expressions, and the share of the events that a filter lets in, where
    # these are known. The values of a set of values are keys, too: see `pairs_of`.
    live_keys: Mapping[frozenset[str], float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    # The share of the events that Spark reads for a filter that chooses among folders of a
    # partitioned source; it reads all events for any other filter.
    reads: Mapping[str, float] = field(default_factory=dict)
    # How many seconds of event time a batch has; None in a stream, or if that is not known.
    seconds: float | None = None
    # Relations whose events Spark computes, by a join or a Python function, rather than reads.
    computed: frozenset[SqlText] = frozenset()
    prices: Prices = SHIPPED
    options: PlanOptions = NO_OPTIONS

    def __post_init__(self) -> None:
        if not self.queries:
            raise ModelError("a workload needs at least one query")
        names: list[str] = []
        for query in self.queries:
            if not isinstance(query, Query | PlainQuery):
                raise ModelError(f"a workload is made of queries, not {query!r}")
            names.append(query.name)
            if isinstance(query, Query) and query.sets is not None:
                names += [part.name for part in query.parts]
        lowered = [name.lower() for name in names]
        if len(set(lowered)) < len(names):
            last = next(place for place in range(len(names)) if lowered[place] in lowered[:place])
            first, second = names[lowered.index(lowered[last])], names[last]
            if first == second:
                raise ModelError(f"two queries are called {first!r}; name them apart")
            raise ModelError(
                f"the queries {first!r} and {second!r} differ in upper and lower case alone, and a "
                f"query's name is also a folder's; name them apart"
            )
        for name in ("rate", "keys"):
            if not getattr(self, name) > 0:
                raise ModelError(f"{name} must be above zero, not {getattr(self, name)!r}")

    def keys_of(self, *sets: Iterable[str]) -> float:
        """Returns how many keys are live by all key expressions of some sets together.

        If only the sets are known, each key of one is assumed to meet every key of the others.
        """
        together = frozenset(key for keys in sets for key in keys)
        if not together:
            return 1.0
        if together in self.live_keys:
            return self.live_keys[together]
        apart = {frozenset(keys) for keys in sets} - {frozenset()}
        if len(apart) == 1:
            return self.keys
        return prod(self.keys_of(keys) for keys in _largest_sets(apart))

    def pairs_of(self, value: str, keys: Iterable[str] | None = None) -> float | None:
        """Returns how many pairs of a key and a value are live; None if that is not known.

        Without `keys`, they are the keys of the queries that need sets of this value.
        """
        if keys is None:
            return self._pairs.get(value)
        return self.live_keys.get(frozenset({*keys, value}))

    @cached_property
    def _pairs(self) -> dict[str, float]:
        known = (
            (value, self.pairs_of(value, query.grouping.keys))
            for query in parts_of(self.queries)
            for value in query.values_in_sets
        )
        return {value: pairs for value, pairs in known if pairs is not None}

    def share_of(self, where: str | None) -> float:
        """Returns the share of the events that a filter lets in, all of them if it is unknown."""
        return 1.0 if where is None else self.shares.get(where, 1.0)

    def read_share(self, filters: Iterable[str | None]) -> float:
        """Returns the share of the events that Spark reads where one of some filters must hold."""
        return min(
            1.0, sum(1.0 if where is None else self.reads.get(where, 1.0) for where in filters)
        )

    @property
    def start_cost(self) -> float:
        """The cost of starting compiled code once, spread over the seconds of a batch."""
        return 0.0 if self.seconds is None else self.prices.started / self.seconds

    @property
    def split_by_grouping(self) -> tuple["Workload", ...]:
        """A workload for each grouping, with its own rate and keys; plain queries are left out."""
        groups: dict[Grouping, list[Query]] = {}
        for query in parts_of(self.queries):
            groups.setdefault(query.grouping, []).append(query)
        return tuple(
            replace(
                self,
                queries=tuple(queries),
                rate=self.rate * self.share_of(grouping.where),
                keys=self.keys_of(grouping.keys),
            )
            for grouping, queries in groups.items()
        )

    @property
    def grouping(self) -> Grouping:
        """The grouping of its queries, if it is one of `split_by_grouping`."""
        return parts_of(self.queries)[0].grouping

    @cached_property
    def periodic_queries(self) -> tuple[Query, ...]:
        """The queries that slices of time can answer, one for each grouping set."""
        return tuple(query for query in parts_of(self.queries) if self.reads_slices(query))

    @cached_property
    def data_window_queries(self) -> tuple[Query, ...]:
        """The queries that read records: those with data windows or user-defined aggregates, and
        those that are cut at begins alone."""
        return tuple(query for query in parts_of(self.queries) if not self.reads_slices(query))

    def reads_slices(self, query: Query) -> bool:
        """Whether a query is answered from slices of time, and not from records.

        Under Cutty slicing, a window whose size is no multiple of its slide ends inside a slice, so
        it is answered as records arrive.
        """
        if not query.is_periodic:
            return False
        window = query.periodic_window
        return self.options.slicing != CUTTY or window.size % window.slide == 0

    @property
    def without_records(self) -> "Workload":
        """The workload with slices for all periodic queries, also where Cutty was asked for."""
        if self.options.slicing != CUTTY:
            return self
        return replace(self, options=replace(self.options, slicing="pairs"))

    @property
    def plain_queries(self) -> tuple[PlainQuery, ...]:
        """The queries that Spark answers alone."""
        return tuple(query for query in self.queries if isinstance(query, PlainQuery))

    @cached_property
    def queries_by_grouping(self) -> dict[Grouping, tuple[Query, ...]]:
        """The shared queries by keys and filter, in the order given."""
        groups: dict[Grouping, list[Query]] = {}
        for query in self.periodic_queries:
            groups.setdefault(query.grouping, []).append(query)
        return {grouping: tuple(queries) for grouping, queries in groups.items()}


def _largest_sets(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Returns the sets that are no subset of another."""
    sets = list(sets)
    return [keys for keys in sets if not any(keys < other for other in sets)]


def workload(
    queries: "Workload | Query | PlainQuery | Iterable[Any]",
    *,
    rate: float | None = None,
    keys: float | None = None,
    prices: Prices = SHIPPED,
    options: PlanOptions = NO_OPTIONS,
) -> Workload:
    """Returns a workload of one or several queries.

    A workload is returned with the options that are set, and is otherwise left as it is.
    """
    if isinstance(queries, Workload):
        if options == NO_OPTIONS:
            return queries
        return replace(queries, options=options.or_else(queries.options))
    if isinstance(queries, Query | PlainQuery):
        queries = (queries,)
    if isinstance(queries, str):
        raise ModelError("queries are given as text; mt.parse_sql(text) reads them")
    if isinstance(queries, Mapping):
        raise ModelError("queries are a list; mt.share takes DataFrames by name")
    return Workload(
        queries=tuple(queries),
        rate=ASSUMED_RATE if rate is None else rate,
        keys=ASSUMED_KEYS if keys is None else keys,
        rate_known=rate is not None,
        keys_known=keys is not None,
        prices=prices,
        options=options,
    )
