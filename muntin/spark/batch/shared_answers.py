"""Answers of queries that share trees: one by one, as stacks to write, and in the long form."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from muntin.aggregates.aggregate import Aggregate
from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.query import Query, parts_of
from muntin.model.trees import Tree, TreeNode
from muntin.model.windows import Window
from muntin.runtime.periodic.tree import NODE
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.relations import Relations, name_query_in_errors, naming_refused_query
from muntin.spark.engine.plan_reuse import store
from muntin.spark.output.numbered_rows import NUMBER
from muntin.spark.output.project import Bounds, Projection, projection
from muntin.spark.output.stacking import (
    QUERY,
    CombinedAnswers,
    Stack,
    long_form,
    stack_answers,
    stack_by_columns,
    with_query_name,
)
from muntin.sql_text import collapse_spaces


@dataclass(frozen=True, kw_only=True)
class NodeAnswers:
    """The answers of some nodes in one frame, each row with the number of its node."""

    nodes: Sequence[TreeNode]
    frame: DataFrame
    # The SQL of each aggregate over the frame, by the name of the part that asks for it.
    aggregates: Mapping[str, Mapping[Aggregate, str]]


class SharedAnswers(ABC):
    """Answers queries whose trees are computed together.

    A tree answers parts of queries, one for each grouping set. Most queries have just one part:
    themselves. `answer_alone` answers a query by itself, if a query that it shares with fails.
    """

    def __init__(
        self,
        trees: Sequence[BoundTree],
        plan: Plan,
        relations: Relations,
        answer_alone: Callable[[str], DataFrame],
    ) -> None:
        self._trees = trees
        self._relations = relations
        self._answer_alone = answer_alone
        self._stored_answers: DataFrame | None = None
        self._parts = [part for bound in trees for part in plan.queries_of(bound.tree).values()]
        self.queries = {part.whole_query.name: part.whole_query for part in self._parts}
        # The tree that answers each part, by its place.
        self._place = {
            name: place for place, bound in enumerate(trees) for name in bound.tree.queries
        }

    @property
    @abstractmethod
    def _key_columns(self) -> Mapping[str, str]:
        """The column of each key."""

    @abstractmethod
    def _is_computable(self, query: Query) -> bool:
        """Whether no event fails this query, or one that it shares slices with."""

    @abstractmethod
    def _shared_answer(self, query: Query) -> DataFrame:
        """Returns the answer to a query from slices or records that it may share."""

    @abstractmethod
    def _combine(self, parts: Sequence[Query], *, is_stored: bool = False) -> NodeAnswers:
        """Returns the answers of the compiled runtime to some parts.

        With `is_stored`, they are made of slices that Spark stores for several answers.
        """

    @abstractmethod
    def release(self) -> None:
        """Free Spark's storage."""

    def _tree(self, part: Query) -> Tree:
        return self._trees[self._place[part.name]].tree

    def _is_left_to_spark(self, query: Query) -> bool:
        return all(self._tree(part).engine is Engine.SPARK for part in query.parts)

    def _plain_answer(self, query: Query) -> DataFrame:
        return self._relations.check(query)

    def _compiled_parts(self, query: Query) -> list[Query]:
        """Returns the parts of a query that the compiled runtime answers."""
        return [
            part for part in query.parts if self._tree(part).engine_of(part.name) is Engine.COMPILED
        ]

    def _is_compiled(self, query: Query) -> bool:
        return len(self._compiled_parts(query)) == len(query.parts)

    def answer(self, name: str) -> DataFrame:
        """Returns one query's answer."""
        query = self.queries[name]
        if self._is_left_to_spark(query):
            return self._plain_answer(query)
        with name_query_in_errors(query):
            if not self._is_computable(query):
                return self._answer_alone(name)
            return self._shared_answer(query)

    def stacks(
        self, is_at_once: Callable[[CombinedAnswers], bool]
    ) -> Iterator[Stack | CombinedAnswers]:
        """Yields the answers of all queries: a frame for each set of columns, or one frame for all
        if `fits_one_job` accepts it.

        Use each frame once. The first computes all that the compiled runtime answers. If there are
        others, Spark stores the answers until `release_answers`.
        """
        compiled = {
            name: query
            for name, query in self.queries.items()
            if query.sets is None and self._is_compiled(query)
        }
        if compiled:
            answers = self._combine(list(compiled.values()))

            def project(names: Sequence[str]) -> dict[str, Projection]:
                return self._projections([compiled[name] for name in names], answers)

            with naming_refused_query(self.answer, compiled):
                stacks = stack_answers(
                    project, list(compiled), answers.nodes, answers.frame, is_at_once
                )
            if len(stacks) > 1 and self._stored_answers is None:
                self._stored_answers = store(answers.frame)
            yield from stacks
        yield from stack_by_columns(
            {name: self.answer(name) for name in self.queries if name not in compiled}
        )

    def release_answers(self) -> None:
        """Free what `stacks` stored."""
        if self._stored_answers is not None:
            self._stored_answers.unpersist()
            self._stored_answers = None

    def long_form(self, column: str = QUERY) -> list[DataFrame]:
        """Returns all queries' answers under their names, in as few DataFrames as possible."""
        compiled = [
            query
            for query in self.queries.values()
            if query.ending is None and self._is_compiled(query)
        ]
        others = [query for query in self.queries.values() if query not in compiled]
        frames = [with_query_name(query.name, self.answer(query.name), column) for query in others]
        if compiled:
            parts = parts_of(compiled)
            # Answers with an order are made of stored slices. Then these are, too.
            answers = self._combine(parts, is_stored=any(query.ending for query in others))
            called = {part.name: part.whole_query.name for part in parts}
            with naming_refused_query(self.answer, called.values()):
                projections = self._projections(parts, answers)
                frames.insert(
                    0, long_form(projections, answers.nodes, answers.frame, column, called)
                )
        return frames

    def _answer_of(self, part: Query, answers: NodeAnswers) -> DataFrame:
        """Returns the answer to a part from the answers of all nodes."""
        node = next(n for n, each in enumerate(answers.nodes) if part.name in each.queries)
        project = self._project(part, answers.aggregates[part.name])
        return project.apply(answers.frame.where(f"{NODE} = {node}"))

    def _projections(self, parts: Sequence[Query], answers: NodeAnswers) -> dict[str, Projection]:
        """Returns the projections of some parts over rows with the number of their part."""
        windows = [part.window for part in parts]
        is_periodic = all(isinstance(window, Window) for window in windows)
        bounds = Bounds.of(windows, NUMBER) if is_periodic else None
        return {
            part.name: self._project(part, answers.aggregates[part.name], bounds) for part in parts
        }

    def _project(
        self, part: Query, aggregates: Mapping[Aggregate, str], bounds: Bounds | None = None
    ) -> Projection:
        bound = self._trees[self._place[part.name]]
        return projection(
            part,
            aggregates,
            bound,
            bounds=bounds,
            plain=self._relations.names_of(part.whole_query),
            keys=[self._key_columns[key] for key in bound.tree.grouping.keys],
            null_keys={
                name: self._key_columns[collapse_spaces(key)]
                for name, key in part.null_keys.items()
            },
        )
