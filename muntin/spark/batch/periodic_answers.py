"""Answers the queries with periodic windows over one family, from the slices of its passes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit
from pyspark.sql.types import DataType, StructField

from muntin.aggregates.aggregate import Aggregate
from muntin.model.engine import Engine
from muntin.model.passes import Pass
from muntin.model.plan import Plan
from muntin.model.query import Query, parts_of
from muntin.model.trees import Node, PeriodicTree
from muntin.runtime.periodic.tree import NODE
from muntin.runtime.slicer.packing import TARGET
from muntin.runtime.slicer.target import Target
from muntin.spark.batch.compiled_answers import TreeRun, combine_compiled
from muntin.spark.batch.native_combine import combine_natively
from muntin.spark.batch.pass_slices import PassSlices, in_order
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.grouping_sql import key_column
from muntin.spark.binding.relations import Relations, blaming, blaming_one
from muntin.spark.engine.stored_frames import is_computable, store
from muntin.spark.output.naming import NUMBER
from muntin.spark.output.project import (
    RESERVED,
    Bounds,
    Projection,
    from_columns,
    from_slots,
    projection,
)
from muntin.spark.output.stacking import CombinedAnswers, Stack, by_columns, stacked
from muntin.spark.output.together import QUERY, named, stack, united
from muntin.sql_text import squeeze


class FamilyAnswers:
    """The answers of all queries with periodic windows over one family.

    Their trees are numbered. A pass makes the slices of some of them; see `PassSlices`. A tree
    answers parts of queries, a grouping set each. Most queries have just one part: themselves.
    `answer_alone` answers a query by itself, for when a query that it shares a pass with fails.
    """

    def __init__(
        self,
        trees: Sequence[BoundPeriodicTree],
        plan: Plan,
        relations: Relations,
        answer_alone: Callable[[str], DataFrame],
    ) -> None:
        self._relations = relations
        self._answer_alone = answer_alone
        self._trees = dict(enumerate(trees))
        self._of_tree = {
            number: plan.queries_of(bound.tree) for number, bound in self._trees.items()
        }
        parts = [part for parts in self._of_tree.values() for part in parts.values()]
        self.queries = {part.asked.name: part.asked for part in parts}
        # Keys that are in no grouping set are columns, too.
        self._relation = parts[0].source
        keys = sorted(
            {squeeze(key) for part in parts for key in part.asked.key_expressions.values()}
        )
        self._names = {key: key_column(index) for index, key in enumerate(keys)}
        self._passes = list(_passes(self._trees, self._names, relations))
        self._kept: dict[int, DataFrame] = {}
        self._answers: DataFrame | None = None
        # Whether the slices of a pass can be computed, by its place, once that was tried.
        self._computable: dict[int, bool] = {}

    # Where a query is answered.

    def _number(self, name: str) -> int:
        """Returns the number of the tree that answers a query."""
        return next(number for number, queries in self._of_tree.items() if name in queries)

    def _tree(self, name: str) -> PeriodicTree:
        return self._trees[self._number(name)].tree

    def _compiled(self, query: Query) -> list[Query]:
        """Returns the parts of a query that the compiled runtime answers."""
        return [
            part
            for part in query.parts
            if self._tree(part.name).engine_of(part.name) is Engine.COMPILED
        ]

    def _is_compiled(self, query: Query) -> bool:
        return len(self._compiled(query)) == len(query.parts)

    def _pass_of(self, number: int) -> PassSlices:
        return next(each for each in self._passes if number in each.trees)

    # Slices, which Spark stores while several queries may read them.

    def _packed(self, slices: PassSlices) -> DataFrame:
        """Returns the packed slices of a pass, from Spark's storage once several queries asked."""
        place = self._passes.index(slices)
        if place in self._kept:
            return self._kept[place]
        rows = in_order([slices.packed])
        if slices.has_rows_for_spark:
            # Spark combines others from the rows before they are packed, which are stored instead.
            slices.keep()
            return rows
        if self._is_shared(slices):
            self._kept[place] = rows = store(rows)
        return rows

    def _is_shared(self, slices: PassSlices) -> bool:
        return len({part.asked.name for part in self._parts_in(slices)}) > 1

    def _is_computable(self, slices: PassSlices) -> bool:
        """Whether no event fails the queries of a pass.

        Slices that several queries share are computed now, rather than when an answer is used, if
        one of these queries may fail.
        """
        place = self._passes.index(slices)
        if place not in self._computable:
            may_fail = self._is_shared(slices) and (
                slices.has_rows_for_spark or self._relations.may_fail(self._parts_in(slices))
            )
            self._computable[place] = not may_fail or is_computable(
                slices.keep() if slices.has_rows_for_spark else self._packed(slices)
            )
        return self._computable[place]

    def _parts_in(self, slices: PassSlices) -> list[Query]:
        """Returns what is answered from a pass; several queries may be asked for one by one."""
        return [part for number in slices.trees for part in self._of_tree[number].values()]

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
        compiled = self._compiled(query)
        is_alone = all(self._tree(part.name).engine is Engine.SPARK for part in query.parts)
        if is_alone or (query.ending and query.sets and len(compiled) < len(query.parts)):
            # An order is that of all grouping sets at once.
            return self._relations.check(query)
        with blaming(query):
            passes = {self._pass_of(self._number(part.name)) for part in query.parts}
            if not all(map(self._is_computable, passes)):
                return self._answer_alone(name)
            frames = [self._by_spark(part) for part in query.parts if part not in compiled]
            if compiled:
                runs = self._runs(compiled)
                combined = self._combined_from(self._rows(runs), runs)
                frames.insert(0, self._from_runtime(compiled, runs, combined))
            return self._in_one(query, frames)

    def _rows(self, runs: Mapping[int, TreeRun]) -> DataFrame:
        """Returns the packed slices of some trees."""
        frames = []
        for slices in self._passes:
            numbers = sorted(runs.keys() & slices.trees.keys())
            if numbers:
                here = f"{TARGET} IN ({', '.join(map(str, numbers))})"
                frames.append(self._packed(slices).where(here))
        return reduce(DataFrame.unionAll, frames)

    def _by_spark(self, part: Query) -> DataFrame:
        """Returns the answer to a part that the compiled runtime does not take."""
        number = self._number(part.name)
        bound = self._trees[number]
        if bound.tree.engine is Engine.SPARK:
            return self._relations.check(part)
        slices = self._pass_of(number)
        if len(self._parts_in(slices)) > 1:
            slices.keep()
        node = bound.tree.answering([part]).nodes[-1]
        frame = combine_natively(node, slices.slices(number), bound.types)
        return self._project(part, from_columns(node)).apply(self._with_left_out(frame, [part]))

    def _in_one(self, query: Query, frames: Sequence[DataFrame]) -> DataFrame:
        """Returns the answers to the parts of a query as one, in the columns that Spark gives."""
        if query.sets is None:
            return frames[0]
        frame = reduce(DataFrame.unionAll, frames)
        plain = self._relations.names_of(query)
        if plain is None:
            return frame
        fields = plain.fields
        places = [f"{RESERVED}{index}" for index in range(len(fields))]
        return frame.toDF(*places).select(
            *(
                col(place).alias(field.name, metadata=field.metadata)
                for place, field in zip(places, fields, strict=True)
            )
        )

    def stacks(
        self, is_at_once: Callable[[CombinedAnswers], bool]
    ) -> Iterator[Stack | CombinedAnswers]:
        """Yields the answers of all queries, those with the same columns in one frame, or all of
        them where `is_at_once` takes that.

        Each is to be used once. The first computes all that the compiled runtime answers; if there
        are others, Spark stores the answers until `release_answers`.
        """
        for slices in self._passes:
            # Spark combines some answers from the rows that others are packed from.
            if slices.has_rows_for_spark:
                slices.keep()
        compiled = [
            query
            for query in self.queries.values()
            if query.sets is None and self._is_compiled(query)
        ]
        others = [name for name, query in self.queries.items() if query not in compiled]
        if compiled:
            runs = self._runs(compiled)
            nodes, combined = _nodes(runs), self._combined(runs)
            with blaming_one(self.answer, [query.name for query in compiled]):
                stacks = stacked(
                    partial(self._projections, runs),
                    [query.name for query in compiled],
                    nodes,
                    combined,
                    is_at_once,
                )
            if len(stacks) > 1:
                self._answers = store(combined)
            yield from stacks
        yield from by_columns({name: self.answer(name) for name in others})

    def release_answers(self) -> None:
        """Give back what `stacks` stored."""
        if self._answers is not None:
            self._answers.unpersist()
            self._answers = None

    def together(self, column: str = QUERY) -> list[DataFrame]:
        """Returns all queries' answers under their names, in as few DataFrames as possible."""
        compiled = [
            query
            for query in self.queries.values()
            if query.ending is None and self._is_compiled(query)
        ]
        others = [name for name, query in self.queries.items() if query not in compiled]
        frames = [named(name, self.answer(name), column) for name in others]
        if compiled:
            parts = parts_of(compiled)
            runs = self._runs(parts)
            nodes = _nodes(runs)
            bounds = Bounds.of([node.window for node in nodes], NODE)
            projections = {
                part.name: self._project(part, self._slots(part, runs), bounds) for part in parts
            }
            called = {part.name: part.asked.name for part in parts}
            is_stored = any(self.queries[name].ending for name in others)
            # Those with an order are made of stored slices, so that all are.
            combined = (
                self._combined_from(self._rows(runs), runs) if is_stored else self._combined(runs)
            )
            with blaming_one(self.answer, called.values()):
                frames.insert(0, stack(projections, nodes, combined, column, called))
        return frames

    def _projections(
        self, runs: Mapping[int, TreeRun], names: Sequence[str]
    ) -> dict[str, Projection]:
        """Returns the projections of some queries over rows with the number of their query."""
        bounds = Bounds.of([self._node(name, runs).window for name in names], NUMBER)
        queries = [self.queries[name] for name in names]
        return {
            query.name: self._project(query, self._slots(query, runs), bounds) for query in queries
        }

    def _combined(self, runs: Mapping[int, TreeRun]) -> DataFrame:
        """Returns the answers of all nodes, the slices of all their passes made in one job."""
        passes = [each for each in self._passes if runs.keys() & each.trees.keys()]
        return self._combined_from(in_order([slices.packed for slices in passes]), runs)

    def _combined_from(self, rows: DataFrame, runs: Mapping[int, TreeRun]) -> DataFrame:
        """Returns the answers of all nodes from the packed slices of their trees."""
        parts = [
            self._of_tree[number][name] for number, run in runs.items() for name in run.tree.queries
        ]
        return self._with_left_out(combine_compiled(runs, rows, self._key_fields(runs)), parts)

    def _with_left_out(self, frame: DataFrame, parts: Iterable[Query]) -> DataFrame:
        """Returns answers with nulls for the keys that the grouping sets of some parts leave out.

        Spark adds them: a type that the compiled runtime does not take would not go to Python.
        """
        left_out = {squeeze(key) for part in parts for key in part.left_out.values()}
        nulls = [
            lit(None).cast(self._key_types[key]).alias(name)
            for key, name in self._names.items()
            if key in left_out and name not in frame.columns
        ]
        return frame.select("*", *nulls) if nulls else frame

    def _key_fields(self, numbers: Collection[int]) -> list[StructField]:
        """Returns the columns of the keys of some trees.

        A key may be null if it may be in one of these trees, or if one of them does not have it.
        """
        groupings = [
            dict(zip(bound.tree.grouping.keys, bound.keys, strict=True))
            for number, bound in self._trees.items()
            if number in numbers
        ]
        fields = []
        for key, name in self._names.items():
            mine = [fields_of[key] for fields_of in groupings if key in fields_of]
            if not mine:
                continue
            is_nullable = len(mine) < len(groupings) or any(field.nullable for field in mine)
            metadata = dict(mine[0].metadata)
            # Spark's mark of a name that nobody gave; answers name their keys.
            metadata.pop("__autoGeneratedAlias", None)
            fields.append(StructField(name, self._key_types[key], is_nullable, metadata))
        return fields

    @cached_property
    def _key_types(self) -> dict[str, DataType]:
        types = {
            key: field.dataType
            for bound in self._trees.values()
            for key, field in zip(bound.tree.grouping.keys, bound.keys, strict=True)
        }
        for key in self._names.keys() - types.keys():
            types[key] = self._relations.type_of(self._relation, key)
        return types

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
        self, parts: Sequence[Query], runs: Mapping[int, TreeRun], combined: DataFrame
    ) -> DataFrame:
        """Returns the rows of some parts of one query from the answers of all nodes."""
        projections = {part.name: self._project(part, self._slots(part, runs)) for part in parts}
        if len(parts) > 1:
            return united(projections, _nodes(runs), combined)
        ((name, project),) = projections.items()
        run = runs[self._number(name)]
        return project.apply(combined.where(f"{NODE} = {run.first + run.tree.number_of(name)}"))

    def _slots(self, query: Query, runs: Mapping[int, TreeRun]) -> dict[Aggregate, str]:
        number = self._number(query.name)
        return from_slots(self._node(query.name, runs), runs[number].layout, self._trees[number])

    def _node(self, name: str, runs: Mapping[int, TreeRun]) -> Node:
        tree = runs[self._number(name)].tree
        return tree.nodes[tree.number_of(name)]

    def _project(
        self,
        query: Query,
        answers: dict[Aggregate, str],
        bounds: Bounds | None = None,
    ) -> Projection:
        bound = self._trees[self._number(query.name)]
        return projection(
            query,
            answers,
            bound,
            bounds=bounds,
            plain=self._relations.names_of(query.asked),
            keys=[self._names[key] for key in bound.tree.grouping.keys],
            left_out={name: self._names[squeeze(key)] for name, key in query.left_out.items()},
        )


def _passes(
    trees: Mapping[int, BoundPeriodicTree], names: Mapping[str, str], relations: Relations
) -> Iterator[PassSlices]:
    """Yields the passes that make the slices of some trees; a tree without one has its own."""
    shared: dict[Pass, dict[int, BoundPeriodicTree]] = {}
    for number, bound in trees.items():
        if bound.tree.made_in is None:
            yield PassSlices({number: bound}, None, names, relations)
        else:
            shared.setdefault(bound.tree.made_in, {})[number] = bound
    for each, members in shared.items():
        yield PassSlices(members, each, names, relations)


def _nodes(runs: Mapping[int, TreeRun]) -> list[Node]:
    """Returns the nodes of all trees, each at the place that is its number."""
    trees: list[PeriodicTree] = [run.tree for run in runs.values()]
    return [node for tree in trees for node in tree.nodes]
