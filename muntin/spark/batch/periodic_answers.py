"""Answers the queries with periodic windows over one family, from the slices of its passes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.passes import Pass
from muntin.model.plan import Node, Plan, Tree
from muntin.model.query import Query
from muntin.runtime.periodic.tree import NODE
from muntin.runtime.slicer.packing import TARGET
from muntin.runtime.slicer.target import Target
from muntin.spark.batch.compiled_answers import TreeRun, combine_compiled
from muntin.spark.batch.native_combine import combine_natively
from muntin.spark.batch.pass_slices import PassSlices, in_order, stored
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.grouping_sql import key_column
from muntin.spark.binding.relations import Relations, blaming, blaming_one
from muntin.spark.output.project import Projection, from_columns, from_slots, projection
from muntin.spark.output.together import QUERY, may_be_null, named, pick, stack


class FamilyAnswers:
    """The answers of all queries with periodic windows over one family.

    Their trees are numbered. A pass makes the slices of some of them; see `PassSlices`.
    """

    def __init__(self, trees: Sequence[BoundTree], plan: Plan, relations: Relations) -> None:
        self._relations = relations
        self._trees = dict(enumerate(trees))
        self._of_tree = {
            number: plan.queries_of(bound.tree) for number, bound in self._trees.items()
        }
        self.queries = {
            name: query for queries in self._of_tree.values() for name, query in queries.items()
        }
        keys = sorted({key for bound in trees for key in bound.tree.grouping.keys})
        self._names = {key: key_column(index) for index, key in enumerate(keys)}
        self._passes = list(_passes(self._trees, self._names, relations))
        self._kept: dict[int, DataFrame] = {}
        self._gathered: DataFrame | None = None

    # Where a query is answered.

    def _number(self, name: str) -> int:
        """Returns the number of the tree that answers a query."""
        return next(number for number, queries in self._of_tree.items() if name in queries)

    def _is_compiled(self, name: str) -> bool:
        tree = self._trees[self._number(name)].tree
        return not tree.is_alone and name not in tree.native

    def _pass_of(self, number: int) -> PassSlices:
        return next(each for each in self._passes if number in each.trees)

    # Slices, which Spark stores while several queries may read them.

    def _packed(self, slices: PassSlices) -> DataFrame:
        """Returns the packed slices of a pass, from Spark's storage once several queries asked."""
        place = self._passes.index(slices)
        if place in self._kept:
            return self._kept[place]
        rows = in_order([slices.packed])
        if any(bound.tree.native for bound in slices.trees.values()):
            # Spark combines others from the rows before they are packed, which are stored instead.
            slices.keep()
            return rows
        if self._has_several(slices):
            self._kept[place] = rows = stored(rows)
        return rows

    def _has_several(self, slices: PassSlices) -> bool:
        """Whether a pass has several queries, which may be asked for one after the other."""
        return sum(len(self._of_tree[number]) for number in slices.trees) > 1

    def release(self) -> None:
        """Give the storage back."""
        for frame in self._kept.values():
            frame.unpersist()
        self._kept.clear()
        for slices in self._passes:
            slices.release()

    # Answers.

    def answer(self, name: str) -> DataFrame:
        """Returns one query's answer, computed without those of the others."""
        query = self.queries[name]
        with blaming(query):
            return self._answer(query)

    def _answer(self, query: Query) -> DataFrame:
        number = self._number(query.name)
        bound = self._trees[number]
        if bound.tree.is_alone:
            return self._relations.check(query)
        slices = self._pass_of(number)
        if self._is_compiled(query.name):
            rows = self._packed(slices).where(f"{TARGET} = {number}")
            runs = self._runs([query])
            return self._from_runtime(query, runs, combine_compiled(runs, rows, self._key_fields))
        if self._has_several(slices):
            slices.keep()
        node = bound.tree.answering([query]).nodes[-1]
        frame = combine_natively(node, slices.slices(number), bound.types)
        return self._project(query, from_columns(node)).apply(frame)

    def gather(self) -> Iterator[tuple[str, DataFrame]]:
        """Yields every query's answer; the first that is used computes all.

        Spark stores the answers until `scatter`.
        """
        compiled = [query for name, query in self.queries.items() if self._is_compiled(name)]
        runs = self._runs(compiled)
        for slices in self._passes:
            # Spark combines some answers from the rows that others are packed from.
            if any(bound.tree.native for bound in slices.trees.values()):
                slices.keep()
        if len(compiled) > 1:
            self._gathered = stored(self._combined(runs))
        for name, query in self.queries.items():
            if self._gathered is not None and self._is_compiled(name):
                yield name, self._from_runtime(query, runs, self._gathered)
            else:
                yield name, self.answer(name)

    def scatter(self) -> None:
        """Give back what `gather` stored."""
        if self._gathered is not None:
            self._gathered.unpersist()
            self._gathered = None

    def together(self, column: str = QUERY) -> list[DataFrame]:
        """Returns all queries' answers under their names, in as few DataFrames as possible."""
        compiled = [query for name, query in self.queries.items() if self._is_compiled(name)]
        others = [name for name in self.queries if not self._is_compiled(name)]
        frames = [named(name, self.answer(name), column) for name in others]
        if compiled:
            runs = self._runs(compiled)
            nodes = _nodes(runs)
            sizes = pick([f"{node.window.size}L" for node in nodes], NODE)
            is_nullable = may_be_null(nodes)
            projections = {
                query.name: self._project(query, self._slots(query, runs), sizes, is_nullable)
                for query in compiled
            }
            with blaming_one(self.answer, projections):
                frames.insert(0, stack(projections, nodes, self._combined(runs), column))
        return frames

    def _combined(self, runs: Mapping[int, TreeRun]) -> DataFrame:
        """Returns the answers of all nodes, the slices of all their passes made in one job."""
        passes = [each for each in self._passes if runs.keys() & each.trees.keys()]
        rows = in_order([slices.packed for slices in passes])
        return combine_compiled(runs, rows, self._key_fields)

    @cached_property
    def _key_fields(self) -> list[StructField]:
        types = {
            key: field.dataType
            for bound in self._trees.values()
            for key, field in zip(bound.tree.grouping.keys, bound.keys, strict=True)
        }
        return [StructField(name, types[key]) for key, name in self._names.items()]

    @cached_property
    def _targets(self) -> dict[int, Target]:
        return {target.number: target for each in self._passes for target in each.targets}

    def _runs(self, queries: Iterable[Query]) -> dict[int, TreeRun]:
        """Returns what to run of each tree to answer some queries; nodes are numbered through."""
        asked = list(queries)
        runs: dict[int, TreeRun] = {}
        first = 0
        for number, bound in self._trees.items():
            mine = [query for query in asked if query.name in self._of_tree[number]]
            if mine:
                tree = bound.tree.answering(mine)
                runs[number] = TreeRun(tree=tree, layout=self._targets[number].layout, first=first)
                first += len(tree.nodes)
        return runs

    def _from_runtime(
        self, query: Query, runs: Mapping[int, TreeRun], combined: DataFrame
    ) -> DataFrame:
        run = runs[self._number(query.name)]
        number = run.first + run.tree.number_of(query.name)
        rows = combined.where(f"{NODE} = {number}")
        return self._project(query, self._slots(query, runs)).apply(rows)

    def _slots(self, query: Query, runs: Mapping[int, TreeRun]) -> dict[Aggregate, str]:
        number = self._number(query.name)
        run = runs[number]
        node = run.tree.nodes[run.tree.number_of(query.name)]
        return from_slots(node, run.layout, self._trees[number])

    def _project(
        self,
        query: Query,
        answers: dict[Aggregate, str],
        size: str | None = None,
        is_nullable: bool | None = None,
    ) -> Projection:
        bound = self._trees[self._number(query.name)]
        unnamed = any(column.name is None for column in query.columns)
        return projection(
            query,
            answers,
            bound,
            size=size or f"{query.periodic_window.size}L",
            is_nullable=is_nullable,
            plain=self._relations.check(query).schema if unnamed else None,
            keys=[self._names[key] for key in bound.tree.grouping.keys],
        )


def _passes(
    trees: Mapping[int, BoundTree], names: Mapping[str, str], relations: Relations
) -> Iterator[PassSlices]:
    """Yields the passes that make the slices of some trees; a tree without one has its own."""
    shared: dict[Pass, dict[int, BoundTree]] = {}
    for number, bound in trees.items():
        if bound.tree.made_in is None:
            yield PassSlices({number: bound}, None, names, relations)
        else:
            shared.setdefault(bound.tree.made_in, {})[number] = bound
    for each, members in shared.items():
        yield PassSlices(members, each, names, relations)


def _nodes(runs: Mapping[int, TreeRun]) -> list[Node]:
    """Returns the nodes of all trees, each at the place that is its number."""
    trees: list[Tree] = [run.tree for run in runs.values()]
    return [node for tree in trees for node in tree.nodes]
