"""Runs one tree on Spark: its slices, kept while several may read them, and its answers."""

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
from muntin.spark.batch.pre_shuffle import pre_shuffled
from muntin.spark.batch.slices import Slices, slice_events
from muntin.spark.batch.time_split import PART, TimeSplit
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.instants import micros
from muntin.spark.binding.relations import Relations, blaming, blaming_one, is_ansi
from muntin.spark.output.project import Projection, from_columns, from_slots, projection
from muntin.spark.output.together import QUERY, may_be_null, named, pick, stack

# Without it, Spark stores a frame with all of its shuffle partitions, however little is in them,
# and every reader starts as many Python tasks.
_ADAPTIVE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


def stored(frame: DataFrame) -> DataFrame:
    """Returns the frame, which Spark stores when it is first computed."""
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
        self.queries = plan.queries_of(bound.tree)
        self._kept: DataFrame | None = None
        self._gathered: DataFrame | None = None

    @property
    def _parts(self) -> TimeSplit | None:
        tree = self._bound.tree
        if tree.time_part is None:
            return None
        return TimeSplit(width=tree.time_part, longest=tree.longest)

    @cached_property
    def _slices(self) -> Slices:
        tree, split = self._bound.tree, self._parts if self._bound.tree.moves_events else None
        instant = micros(tree.grouping.time, self._bound.time_type)
        return slice_events(
            tree,
            self._relations,
            time_type=self._bound.time_type,
            types=self._bound.types,
            numeric=self._bound.numeric,
            ansi=is_ansi(self._relations.session),
            grouping=pre_shuffled(tree.grouping, instant, split)
            if tree.moves_events
            else tree.grouping,
            part=PART if split is not None else None,
        )

    @cached_property
    def _ordered(self) -> Ordered:
        in_place = self._bound.tree.moves_events
        return in_order(self._slices, parts=self._parts, in_place=in_place)

    @property
    def _read(self) -> DataFrame:
        """The slices in the form that all queries can read: in order, if the runtime takes all."""
        if self._bound.tree.native or self._bound.tree.is_alone:
            return self._slices.frame
        return self._ordered.frame

    def _is_compiled(self, query: Query) -> bool:
        tree = self._bound.tree
        return not tree.is_alone and query.name not in tree.native

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
        """Returns one query's answer, computed without those of the others."""
        query = self.queries[name]
        with blaming(query):
            return self._answer(query)

    def _answer(self, query: Query) -> DataFrame:
        if self._bound.tree.is_alone:
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
        """Yields every query's answer; the first that is used computes all.

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
        """Returns all queries' answers under their names, in as few DataFrames as possible."""
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
        number = tree.number_of(query.name)
        rows = combined.where(f"{NODE} = {number}")
        return self._project(query, self._slots(query, tree)).apply(rows)

    def _slots(self, query: Query, tree: Tree) -> dict[Aggregate, str]:
        node = tree.nodes[tree.number_of(query.name)]
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
