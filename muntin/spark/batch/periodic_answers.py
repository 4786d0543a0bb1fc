"""Answers the queries with periodic windows over one family, from the slices of its passes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit
from pyspark.sql.types import DataType, StructField

from muntin.aggregates.aggregate import Aggregate
from muntin.model.passes import Engine, Pass
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import Node
from muntin.runtime.slicer.packing import TREE
from muntin.spark.batch.compiled_answers import TreeRun, combine_slices
from muntin.spark.batch.native_combine import combine_natively
from muntin.spark.batch.pass_slices import PassSlices, order_by_bucket
from muntin.spark.batch.shared_answers import NodeAnswers, SharedAnswers
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.grouping_sql import key_column
from muntin.spark.binding.relations import Relations
from muntin.spark.output.numbered_rows import project_parts
from muntin.spark.output.project import RESERVED, from_columns, from_slots
from muntin.spark.output.stacking import CombinedAnswers, Stack
from muntin.sql_text import collapse_spaces


class PeriodicAnswers(SharedAnswers):
    """The answers of all queries with periodic windows over one family.

    A pass makes the slices of some of their trees; see `PassSlices`.
    """

    _trees: Sequence[BoundPeriodicTree]

    def __init__(
        self,
        trees: Sequence[BoundPeriodicTree],
        plan: Plan,
        relations: Relations,
        answer_alone: Callable[[str], DataFrame],
    ) -> None:
        super().__init__(trees, plan, relations, answer_alone)
        # The slices that each tree reads.
        self._slices: dict[int, PassSlices] = {}
        passes: dict[Pass | int, list[int]] = {}
        for place, bound in enumerate(trees):
            passes.setdefault(bound.tree.slicing_pass or place, []).append(place)
        for shared, places in passes.items():
            slices = PassSlices(
                {place: trees[place] for place in places},
                shared if isinstance(shared, Pass) else None,
                [part for part in self._parts if self._place[part.name] in places],
                self._key_columns,
                relations,
            )
            self._slices |= dict.fromkeys(places, slices)

    @cached_property
    def _key_columns(self) -> Mapping[str, str]:
        # Keys that are in no grouping set are columns, too.
        keys = {
            collapse_spaces(key)
            for part in self._parts
            for key in part.whole_query.key_expressions.values()
        }
        return {key: key_column(index) for index, key in enumerate(sorted(keys))}

    def _passes_of(self, places: Iterable[int]) -> list[PassSlices]:
        """Returns the passes that make the slices of some trees, each once."""
        return list(dict.fromkeys(self._slices[place] for place in places))

    def _is_left_to_spark(self, query: Query) -> bool:
        # If a query with grouping sets has an order, it is that of all sets at once.
        has_order_of_sets = query.ending is not None and query.sets is not None
        return super()._is_left_to_spark(query) or (
            has_order_of_sets and not self._is_compiled(query)
        )

    def _is_computable(self, query: Query) -> bool:
        passes = self._passes_of(self._place[part.name] for part in query.parts)
        return all(each.is_computable for each in passes)

    def _shared_answer(self, query: Query) -> DataFrame:
        compiled = self._compiled_parts(query)
        frames = [self._answer_by_spark(part) for part in query.parts if part not in compiled]
        if compiled:
            answers = self._combine(compiled, is_stored=True)
            if len(compiled) == 1:
                frames.insert(0, self._answer_of(compiled[0], answers))
            else:
                projections = {
                    part.name: self._project(part, answers.aggregates[part.name])
                    for part in compiled
                }
                frames.insert(0, project_parts(projections, answers.nodes, answers.frame))
        return frames[0] if query.sets is None else self._union_of_sets(query, frames)

    def _union_of_sets(self, query: Query, frames: Sequence[DataFrame]) -> DataFrame:
        """Returns the answers to all grouping sets, in the columns that Spark gives the query."""
        frame = reduce(DataFrame.unionAll, frames)
        plain = self._relations.names_of(query)
        if plain is None:
            return frame
        places = [f"{RESERVED}{index}" for index in range(len(plain.fields))]
        return frame.toDF(*places).select(
            *(
                col(place).alias(field.name, metadata=field.metadata)
                for place, field in zip(places, plain.fields, strict=True)
            )
        )

    def _answer_by_spark(self, part: Query) -> DataFrame:
        """Returns the answer to a part that compiled code does not combine."""
        place = self._place[part.name]
        bound = self._trees[place]
        if bound.tree.engine is Engine.SPARK:
            return self._relations.check(part)
        slices = self._slices[place]
        if len(slices.parts) > 1:
            slices.store_rows()
        node = bound.tree.restrict_to([part]).nodes[-1]
        rows = slices.rows
        frame = combine_natively(node, rows.frame, rows.slices[place], bound.types)
        return self._project(part, from_columns(node)).apply(self._with_null_keys(frame, [part]))

    def stacks(
        self, is_at_once: Callable[[CombinedAnswers], bool]
    ) -> Iterator[Stack | CombinedAnswers]:
        """Yields the answers of all queries, as `SharedAnswers.stacks` does."""
        for slices in self._passes_of(self._slices):
            # Some answers are combined by Spark from rows that are packed for the others, too.
            if slices.has_rows_for_spark:
                slices.store_rows()
        yield from super().stacks(is_at_once)

    def _combine(self, parts: Sequence[Query], *, is_stored: bool = False) -> NodeAnswers:
        runs: dict[int, TreeRun] = {}
        nodes: list[Node] = []
        aggregates: dict[str, dict[Aggregate, str]] = {}
        for place, bound in enumerate(self._trees):
            own = [part for part in parts if self._place[part.name] == place]
            if not own:
                continue
            tree = bound.tree.restrict_to(own)
            layout = self._slices[place].rows.slicer_trees[place].layout
            runs[place] = TreeRun(tree=tree, layout=layout, first=len(nodes))
            nodes += tree.nodes
            for part in own:
                node = tree.nodes[tree.node_index(part.name)]
                aggregates[part.name] = from_slots(node, layout, bound)
        passes = self._passes_of(runs)
        if is_stored:
            numbers = ", ".join(map(str, runs))
            frames = (each.slices().where(f"{TREE} IN ({numbers})") for each in passes)
            rows = reduce(DataFrame.unionAll, frames)
        else:
            rows = order_by_bucket([each.packed_partials for each in passes])
        frame = combine_slices(runs, rows, self._key_fields(runs))
        return NodeAnswers(
            nodes=nodes, frame=self._with_null_keys(frame, parts), aggregates=aggregates
        )

    def _with_null_keys(self, frame: DataFrame, parts: Iterable[Query]) -> DataFrame:
        """Returns answers with nulls for the keys that the grouping sets of some parts leave out.

        They are added in Spark, since not every type of key can go to Python.
        """
        null_keys = {collapse_spaces(key) for part in parts for key in part.null_keys.values()}
        nulls = [
            lit(None).cast(self._key_types[key]).alias(name)
            for key, name in self._key_columns.items()
            if key in null_keys and name not in frame.columns
        ]
        return frame.select("*", *nulls) if nulls else frame

    def _key_fields(self, places: Iterable[int]) -> list[StructField]:
        """Returns the columns of the keys of some trees.

        A key is nullable if it is in one of these trees, or if one of them does not have it.
        """
        groupings = [
            dict(zip(bound.tree.grouping.keys, bound.keys, strict=True))
            for bound in (self._trees[place] for place in places)
        ]
        fields = []
        for key, name in self._key_columns.items():
            own = [fields_of[key] for fields_of in groupings if key in fields_of]
            if not own:
                continue
            is_nullable = len(own) < len(groupings) or any(field.nullable for field in own)
            metadata = dict(own[0].metadata)
            # Spark's mark of a generated name; answers name their keys.
            metadata.pop("__autoGeneratedAlias", None)
            fields.append(StructField(name, own[0].dataType, is_nullable, metadata))
        return fields

    @cached_property
    def _key_types(self) -> dict[str, DataType]:
        types = {
            key: field.dataType
            for bound in self._trees
            for key, field in zip(bound.tree.grouping.keys, bound.keys, strict=True)
        }
        for key in self._key_columns.keys() - types.keys():
            types[key] = self._relations.type_of(self._parts[0].source, key)
        return types

    def release(self) -> None:
        """Free Spark's storage."""
        for slices in self._passes_of(self._slices):
            slices.release()
