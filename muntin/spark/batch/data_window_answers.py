"""Runs one tree of data windows on Spark: its records, and its queries' answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from muntin.aggregates.aggregate import Aggregate
from muntin.model.engine import Engine
from muntin.model.plan import Plan
from muntin.model.query import Query
from muntin.model.trees import DataTree
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.data_windows.tree import END, DataTreeRuntime
from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.storage.layout import all_slots, cast_answer_rows
from muntin.spark.batch.compiled_answers import slot_fields
from muntin.spark.batch.records import OrderedRecords, records_in_order
from muntin.spark.binding.bound_tree import BoundDataTree
from muntin.spark.binding.relations import Relations, blaming, blaming_one, is_ansi
from muntin.spark.engine.stored_frames import is_computable, store
from muntin.spark.engine.worker import Task, arrow_schema, prepare_workers
from muntin.spark.output.project import Projection, from_slots, projection
from muntin.spark.output.stacking import CombinedAnswers, Stack, by_columns, stacked
from muntin.spark.output.together import QUERY, named, stack


class RecordAnswers:
    """The answers of one tree's queries; the first that is used computes all of them.

    A session query that is alone in its tree is left to Spark's own `session_window`.
    `answer_alone` answers a query by itself, for when another one of the tree fails.
    """

    def __init__(
        self,
        bound: BoundDataTree,
        plan: Plan,
        relations: Relations,
        answer_alone: Callable[[str], DataFrame],
    ) -> None:
        self._bound = bound
        self._relations = relations
        self._answer_alone = answer_alone
        self.queries = plan.queries_of(bound.tree)
        self._kept: DataFrame | None = None

    @cached_property
    def _ordered(self) -> OrderedRecords:
        ansi = is_ansi(self._relations.session)
        return records_in_order(self._bound, self._relations, ansi=ansi)

    @property
    def _combined(self) -> DataFrame:
        """All answers, from Spark's storage if they are there."""
        if self._kept is None:
            return _combine(self._bound.tree, self._ordered)
        return self._kept

    def answer(self, name: str) -> DataFrame:
        """Returns one query's answer; if the tree has others, stores all answers for them."""
        query = self.queries[name]
        if self._bound.tree.engine is Engine.SPARK:
            return _fenced(self._relations.check(query))
        with blaming(query):
            if not self._is_computable:
                return self._answer_alone(name)
            if self._kept is None and len(self.queries) > 1:
                self._kept = store(self._combined)
            number = self._bound.tree.number_of(query.name)
            return self._project(query).apply(self._combined.where(f"{NODE} = {number}"))

    @cached_property
    def _is_computable(self) -> bool:
        """Whether no event fails the queries; all are answered now if several share and one may."""
        if len(self.queries) == 1 or not self._relations.may_fail(self.queries.values()):
            return True
        self._kept = store(self._combined)
        return is_computable(self._kept)

    def stacks(
        self, is_at_once: Callable[[CombinedAnswers], bool]
    ) -> Iterator[Stack | CombinedAnswers]:
        """Yields the answers of all queries, those with the same columns in one frame, or all of
        them where `is_at_once` takes that.

        If there are several frames, Spark stores the answers when the first is computed.
        """
        if self._bound.tree.engine is Engine.SPARK:
            yield from by_columns({name: self.answer(name) for name in self.queries})
            return
        with blaming_one(self.answer, self.queries):
            stacks = stacked(
                self._projections,
                list(self.queries),
                self._bound.tree.nodes,
                self._combined,
                is_at_once,
            )
        if self._kept is None and len(stacks) > 1:
            self._kept = store(self._combined)
        yield from stacks

    def release_answers(self) -> None:
        """Nothing is stored for `stacks` alone."""

    def together(self, column: str = QUERY) -> list[DataFrame]:
        """Returns all queries' answers under their names, in one DataFrame."""
        if self._bound.tree.engine is Engine.SPARK:
            return [named(name, self.answer(name), column) for name in self.queries]
        ordered = [name for name, query in self.queries.items() if query.ending is not None]
        frames = [named(name, self.answer(name), column) for name in ordered]
        projections = self._projections([name for name in self.queries if name not in ordered])
        if projections:
            with blaming_one(self.answer, projections):
                nodes = self._bound.tree.nodes
                frames.insert(0, stack(projections, nodes, self._combined, column))
        return frames

    def release(self) -> None:
        """Give the storage back."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None

    def _projections(self, names: Sequence[str]) -> dict[str, Projection]:
        return {name: self._project(self.queries[name]) for name in names}

    def _project(self, query: Query) -> Projection:
        tree = self._bound.tree
        node = tree.nodes[tree.number_of(query.name)]
        slots: dict[Aggregate, str] = from_slots(node, self._ordered.layout.layout, self._bound)
        plain = self._relations.names_of(query)
        return projection(query, slots, self._bound, plain=plain)


def _fenced(frame: DataFrame) -> DataFrame:
    """Returns the same rows, through an operator that Spark moves no filter across.

    Spark would move a caller's filter on the bounds of sessions to before sessions are merged,
    where each event has a session of its own, and answer with parts of sessions.
    """
    return frame.sample(fraction=1.0, seed=0)


def _combine(tree: DataTree, ordered: OrderedRecords) -> DataFrame:
    """Returns the answers of a tree's queries: node number, keys, window begin and end, slots."""
    layout = ordered.layout.layout
    keys = [ordered.frame.schema[name] for name in layout.key_columns]
    slots = slot_fields(all_slots(tree, layout))
    bounds = [StructField(BEGIN, LongType()), StructField(END, LongType())]
    schema = StructType([StructField(NODE, IntegerType(), False), *keys, *bounds, *slots])
    prepare_workers(ordered.frame.sparkSession)
    arrow = arrow_schema(schema)
    run = Task(_run, tree=tree, layout=ordered.layout, schema=arrow)
    return ordered.frame.mapInArrow(run, schema)


def _run(
    batches: Iterable[pa.RecordBatch], *, tree: DataTree, layout: RecordLayout, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for answers in DataTreeRuntime(tree, layout).run(batches):
        yield cast_answer_rows(answers, schema)
