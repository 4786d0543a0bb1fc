"""One tree on Spark: its slices, kept while several may read them, and its queries' answers."""

from collections.abc import Iterator
from functools import cached_property

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.plan import Plan, Tree
from muntin.model.query import Query
from muntin.runtime.periodic.tree import NODE
from muntin.spark.batch.compiled_answers import Ordered, combine_compiled, in_order
from muntin.spark.batch.native_combine import combine_natively
from muntin.spark.batch.pre_shuffle import can_move, pre_shuffled
from muntin.spark.batch.slices import Slices, slice_events
from muntin.spark.batch.time_split import PART, TimeSplit, parts
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations, blaming, blaming_one, is_ansi
from muntin.spark.output.project import Projection, from_columns, from_slots, projection
from muntin.spark.output.together import QUERY, may_be_null, named, pick, stack

# Without it, Spark plans what it stores with all of its shuffle partitions, however little is in
# them, and every reader starts as many Python tasks.
_ADAPTIVE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


def stored(frame: DataFrame) -> DataFrame:
    """The frame, to be kept in Spark's storage when it is first computed."""
    conf = frame.sparkSession.conf
    before = conf.get(_ADAPTIVE)
    conf.set(_ADAPTIVE, "true")
    try:
        return frame.persist(StorageLevel.MEMORY_AND_DISK)
    finally:
        conf.set(_ADAPTIVE, before or "false")


class TreeAnswers:
    """The answers of one tree's queries."""

    def __init__(self, bound: BoundTree, plan: Plan, relations: Relations) -> None:
        self._bound = bound
        self._relations = relations
        self._keys = plan.keys if plan.keys_known else None
        self.queries = {
            name: query
            for node in bound.tree.nodes
            for name in node.queries
            if isinstance(query := plan.query(name), Query)
        }
        self._kept: DataFrame | None = None
        self._gathered: DataFrame | None = None

    @cached_property
    def _parts(self) -> TimeSplit | None:
        longest = max(query.periodic_window.size for query in self.queries.values())
        cores = self._relations.session.sparkContext.defaultParallelism
        keys = self._keys if self._bound.tree.family.keys else 1
        return parts(self._bound.tree.slicing, longest, keys=keys, cores=cores)

    @cached_property
    def _is_moved(self) -> bool:
        """Whether the events are brought to their keys' places, so that the slices are there."""
        tree = self._bound.tree
        compiled = all(self._is_compiled(query) for query in self.queries.values())
        return tree.moves_events and compiled and can_move(tree.family)

    @cached_property
    def _slices(self) -> Slices:
        tree, split = self._bound.tree, self._parts if self._is_moved else None
        instant = micros(tree.family.time, self._bound.time_type)
        return slice_events(
            tree,
            self._relations,
            time_type=self._bound.time_type,
            types=self._bound.types,
            numeric=self._bound.numeric,
            ansi=is_ansi(self._relations.session),
            family=pre_shuffled(tree.family, instant, split) if self._is_moved else tree.family,
            part=PART if split is not None else None,
        )

    @cached_property
    def _ordered(self) -> Ordered:
        return in_order(self._slices, parts=self._parts, in_place=self._is_moved)

    @property
    def _read(self) -> DataFrame:
        """The slices in the form that all queries can start from: in order, if the runtime can."""
        if any(not self._is_compiled(query) for query in self.queries.values()):
            return self._slices.frame
        return self._ordered.frame

    @cached_property
    def _is_alone(self) -> bool:
        """Whether there is one query and its windows are the slices: nothing to build or share."""
        windows = [query.periodic_window for query in self.queries.values()]
        width = self._bound.tree.slicing.width
        return len(windows) == 1 and windows[0].is_tumbling and windows[0].size == width

    def _is_compiled(self, query: Query) -> bool:
        return not self._is_alone and self._bound.numeric.issuperset(query.aggregates.values())

    def keep(self) -> None:
        """Have Spark store the slices when they are first computed."""
        if self._kept is None:
            self._kept = stored(self._read)

    def release(self) -> None:
        """Give the storage back."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None

    def answer(self, name: str) -> DataFrame:
        """One query's answer, computed without those of the others."""
        query = self.queries[name]
        with blaming(query):
            return self._answer(query)

    def _answer(self, query: Query) -> DataFrame:
        if self._is_alone:
            return self._relations.check(query)
        if len(self.queries) > 1:
            self.keep()
        tree = self._bound.tree.answering([query])
        if self._is_compiled(query):
            return self._from_runtime(query, tree, self._combined(tree))
        node = tree.nodes[-1]
        frame = combine_natively(node, self._slices, self._bound.types)
        return self._project(query, from_columns(node)).apply(frame)

    def gather(self) -> Iterator[tuple[str, DataFrame]]:
        """Every query's answer, all of them computed by the first that is used.

        Spark stores the answers until `scatter`.
        """
        compiled = [query for query in self.queries.values() if self._is_compiled(query)]
        if len(compiled) < len(self.queries):
            self.keep()
        tree = self._bound.tree.answering(compiled)
        if len(compiled) > 1:
            self._gathered = stored(self._combined(tree))
        for name, query in self.queries.items():
            if self._gathered is not None and self._is_compiled(query):
                yield name, self._from_runtime(query, tree, self._gathered)
            else:
                yield name, self.answer(name)

    def scatter(self) -> None:
        """Give back what `gather` stored."""
        if self._gathered is not None:
            self._gathered.unpersist()
            self._gathered = None

    def together(self, column: str = QUERY) -> list[DataFrame]:
        """All queries' answers under their names, in as few DataFrames as one pass can fill."""
        compiled = [query for query in self.queries.values() if self._is_compiled(query)]
        others = [query.name for query in self.queries.values() if not self._is_compiled(query)]
        if len(others) + bool(compiled) > 1:
            self.keep()
        frames = [named(name, self.answer(name), column) for name in others]
        if compiled:
            tree = self._bound.tree.answering(compiled)
            sizes = pick([f"{node.window.size}L" for node in tree.nodes], NODE)
            is_nullable = may_be_null(tree.nodes)
            projections = {
                query.name: self._project(query, self._slots(query, tree), sizes, is_nullable)
                for query in compiled
            }
            with blaming_one(self.answer, projections):
                frames.insert(0, stack(projections, tree.nodes, self._combined(tree), column))
        return frames

    def _combined(self, tree: Tree) -> DataFrame:
        return combine_compiled(tree, self._ordered)

    def _from_runtime(self, query: Query, tree: Tree, combined: DataFrame) -> DataFrame:
        number = next(n for n, node in enumerate(tree.nodes) if query.name in node.queries)
        rows = combined.where(f"{NODE} = {number}")
        return self._project(query, self._slots(query, tree)).apply(rows)

    def _slots(self, query: Query, tree: Tree) -> dict[Aggregate, str]:
        node = next(node for node in tree.nodes if query.name in node.queries)
        return from_slots(node, self._slices.layout, self._bound)

    def _project(
        self,
        query: Query,
        answers: dict[Aggregate, str],
        size: str | None = None,
        is_nullable: bool | None = None,
    ) -> Projection:
        unnamed = any(column.name is None for column in query.columns)
        return projection(
            query,
            answers,
            self._bound,
            size=size or f"{query.periodic_window.size}L",
            is_nullable=is_nullable,
            plain=self._relations.check(query).schema if unnamed else None,
        )
