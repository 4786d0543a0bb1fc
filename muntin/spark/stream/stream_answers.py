"""Turns the operator's answers into what queries asked for, by the same projection as in batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import count_if, expr
from pyspark.sql.functions import max as max_of
from pyspark.sql.types import StructField

from muntin.model.query import Grouping, Query, parts_of
from muntin.model.trees import Node, TreeNode
from muntin.model.windows import Window
from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.slicer.late_rows import WHOLLY_LATE
from muntin.runtime.slicer.packing import ROWS
from muntin.runtime.state.figures import ALL, ARRIVED, FIGURE, KEYS, TREE
from muntin.runtime.state.stream_tree import StreamTree
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.relations import Relations, name_query_in_errors, naming_refused_query
from muntin.spark.engine.listeners import Report
from muntin.spark.output.numbered_rows import (
    NUMBER,
    PART,
    NumberedRows,
    merge_parts,
    number_rows,
    project_by_number,
    project_parts,
)
from muntin.spark.output.project import Bounds, Output, Projection, from_slots, projection
from muntin.spark.output.stacking import QUERY, check_names, long_form
from muntin.spark.stream.key_codes import KEY_TYPES, key_code
from muntin.spark.stream.state_report import (
    OBSERVED_FIGURES,
    StateReport,
    answers_in,
    figures_column,
    figures_in,
    state_in,
)

# What rows that no open window took are called among queries; no query's name has a slash.
LATE_ROWS = "late/rows"
# What Spark's reports call the counts of answers.
_OBSERVED = "muntin"


class StreamAnswers:
    """Projects the rows of each tree and node to the answers of their queries."""

    def __init__(
        self,
        running: StreamPlan,
        trees: Sequence[StreamTree],
        bound: Mapping[int, BoundTree],
        relations: Relations,
        *,
        late: bool = False,
    ) -> None:
        """`bound` has the types of the trees, by their numbers. With `late`, there are packed rows
        that no open window took, as if of one more query."""
        self._late = late
        self._running = running
        self._trees, self._bound = trees, bound
        self._relations = relations
        # Where each part of a query, a grouping set, is answered; most queries have one part.
        self.places: dict[str, tuple[StreamTree, int]] = {}
        for tree in trees:
            for number, node in enumerate(tree.tree.nodes):
                self.places.update(dict.fromkeys(node.queries, (tree, number)))
        self._parts = {part.name: part for part in parts_of(running.plan.queries)}
        # What a query that leaves a tree gives is the answer of the query that has moved.
        self._user_names = {
            part: running.user_name(self._parts[part].whole_query.name) for part in self.places
        }
        self.queries = list(dict.fromkeys(self._user_names.values()))
        self._projections = {name: self._projection(name) for name in self.places}

    def of(self, name: str, answers: DataFrame) -> DataFrame:
        """One query's answers."""
        parts = [part for part in self.places if self._user_names[part] == name]
        if len(parts) == 1:
            return self._projections[parts[0]].apply(answers.where(self._is_row_of(parts[0])))
        projections = {part: self._projections[part] for part in parts}
        return project_parts(projections, self._nodes, self._with_node_numbers(answers))

    def answers_from_numbered(self, name: str, rows: DataFrame) -> DataFrame:
        """The same, from rows of `number_rows`."""
        projections = {
            number: self._projections[part]
            for number, part in enumerate(self.places)
            if self._user_names[part] == name
        }
        here = rows.where(f"{NUMBER} = {self.queries.index(name)}")
        # Windows that a part does not give are left out of these rows already.
        return replace(project_by_number(projections, PART), condition=None).apply(here)

    def long_form(self, answers: DataFrame) -> DataFrame:
        """The long form: the query's name, then the columns of all queries by name."""
        check_names(
            {
                self._user_names[part]: [output.name for output in each.outputs]
                for part, each in self._projections.items()
            },
            QUERY,
        )
        rows = answers.where(f"{FIGURE} IS NULL")
        return long_form(
            self._any_size, self._nodes, self._with_node_numbers(rows), called=self._user_names
        )

    def without_figures(self, answers: DataFrame) -> DataFrame:
        """Returns the answers only; Spark's reports then have the figures of the operator."""
        return answers.observe(OBSERVED_FIGURES, figures_column()).where(f"{FIGURE} IS NULL")

    def state_in(self, report: Report) -> StateReport:
        """Returns what is kept after a batch."""
        return state_in(report, self._running.trees)

    def arrived_in(self, report: Report) -> dict[Grouping, tuple[int, int]]:
        """Returns how many events, and keys among them, a batch had for each grouping."""
        figures = figures_in(report)
        return {
            tree.tree.grouping: (events, figures[tree.number, KEYS])
            for tree in self._trees
            if (events := figures.get((tree.number, ARRIVED)))
        }

    def late_in(self, report: Report) -> dict[str | None, int]:
        """Returns how many events came too late in a batch, for each query and, under None, for
        any."""
        # An event is late for all parts of a query, or for none: they have one window and filter. A
        # query that leaves a tree counts in the one that it has moved to.
        places: dict[str | None, tuple[int, int]] = {None: (ALL, ALL)}
        for part, (tree, node) in self.places.items():
            if part not in self._running.leaving:
                places.setdefault(self._user_names[part], (tree.number, node))
        figures = figures_in(report)
        return {name: figures.get(place, 0) for name, place in places.items()}

    def late_rows(self, rows: DataFrame) -> DataFrame:
        """Returns packed rows that no open window took, from rows of `number_rows`."""
        return rows.where(f"{NUMBER} = {len(self.queries)}").select(ROWS)

    def with_counts(self, rows: NumberedRows) -> NumberedRows:
        """Returns the rows; Spark's reports then say how many those queries have whose rows are not
        all of their nodes'."""
        counts = self._counts(self._filtered_queries)
        return replace(rows, frame=rows.frame.observe(_OBSERVED, *counts)) if counts else rows

    def counts_in(self, report: Report) -> dict[str, tuple[int, int | None]]:
        """Returns how many rows each query had in a batch, and the latest begin."""
        metrics = report.get("observedMetrics", {})
        if OBSERVED_FIGURES not in metrics:
            return {}
        given = answers_in(report)
        found: dict[str, tuple[int, int | None]] = {}
        for part, (tree, node) in self.places.items():
            rows, begin = given.get((tree.number, node), (0, None))
            window = self._parts[part].window
            if begin is not None and isinstance(window, Window):
                begin = window.start_of(begin)
            before, last = found.get(self._user_names[part], (0, None))
            begins = [instant for instant in (begin, last) if instant is not None]
            found[self._user_names[part]] = before + rows, max(begins, default=None)
        return {**found, **self._named_counts(metrics.get(_OBSERVED, {}), self._filtered_queries)}

    def count_rows(self, rows: DataFrame) -> dict[str, tuple[int, int | None]]:
        """Returns the same for rows of `number_rows`, by a Spark job."""
        counts = rows.agg(*self._counts(self.queries)).first()
        assert counts is not None
        return self._named_counts(counts.asDict(), self.queries)

    def number_rows(self, answers: DataFrame) -> NumberedRows:
        """Each row once for every query that asks for it, with the query's number."""

        def answer(name: str) -> DataFrame:
            with name_query_in_errors(self._query(name)):
                return self.of(name, answers)

        with naming_refused_query(answer, self.queries):
            projections, called = self._any_size, self._user_names
            if self._late:
                rows = Output(name=ROWS, sql=ROWS)
                projections = {**projections, LATE_ROWS: Projection(outputs=(rows,))}
                called = {**called, LATE_ROWS: LATE_ROWS}
            each = number_rows(projections, self._nodes, self._with_node_numbers(answers))
            return merge_parts(each, called)

    @cached_property
    def _filtered_queries(self) -> list[str]:
        """The queries that leave out rows of their nodes: by HAVING, or windows of other trees."""
        return list(
            dict.fromkeys(
                self._user_names[part]
                for part, projection in self._projections.items()
                if projection.having is not None or projection.condition is not None
            )
        )

    def _counts(self, names: Sequence[str]) -> list[Column]:
        """For each of some queries its number of rows and their latest begin, as aggregates."""
        columns = []
        windows = {self._user_names[name]: part.window for name, part in self._parts.items()}
        for index in map(self.queries.index, names):
            here = f"{NUMBER} = {index}"
            begin = Bounds.of([windows[self.queries[index]]]).begin
            columns.append(count_if(expr(here)).alias(f"n{index}"))
            columns.append(max_of(expr(f"CASE WHEN {here} THEN {begin} END")).alias(f"b{index}"))
        return columns

    def _named_counts(
        self, counts: Mapping[str, int], names: Sequence[str]
    ) -> dict[str, tuple[int, int | None]]:
        # Spark leaves nulls out of a report.
        indexes = {name: self.queries.index(name) for name in names}
        return {
            name: (counts.get(f"n{index}", 0), counts.get(f"b{index}"))
            for name, index in indexes.items()
        }

    @cached_property
    def _nodes(self) -> list[TreeNode]:
        nodes: list[TreeNode] = [node for tree in self._trees for node in tree.tree.nodes]
        if self._late:
            instant = Window(size=1, slide=1)
            nodes.append(Node(window=instant, aggregates=(), queries=(LATE_ROWS,)))
        return nodes

    @cached_property
    def _any_size(self) -> dict[str, Projection]:
        """Each query's projection over rows of any node, by its number among those of all trees."""
        bounds = Bounds.of([node.window for node in self._nodes], NODE)
        return {name: self._projection(name, bounds) for name in self.places}

    def _with_node_numbers(self, answers: DataFrame) -> DataFrame:
        """Numbers the nodes of all trees together, so that a plan has the operator only once."""
        if len(self._trees) == 1 and not self._late:
            return answers
        first, cases = 0, []
        for tree in self._trees:
            cases.append(f"WHEN {TREE} = {tree.number} THEN {NODE} + {first}")
            first += len(tree.tree.nodes)
        if self._late:
            cases.append(f"WHEN {TREE} = {WHOLLY_LATE} THEN {first}")
        return answers.withColumn(NODE, expr(f"CASE {' '.join(cases)} END"))

    def _query(self, name: str) -> Query:
        query = self._running.plan.query(name)
        assert isinstance(query, Query)
        return query

    def _is_row_of(self, name: str) -> str:
        """Whether a row of answers belongs to a query's node."""
        tree, number = self.places[name]
        return f"{TREE} = {tree.number} AND {NODE} = {number}"

    def _projection(self, name: str, bounds: Bounds | None = None) -> Projection:
        tree, number = self.places[name]
        bound = self._bound[tree.number]
        query = self._parts[name]
        with name_query_in_errors(query.whole_query):
            projected = projection(
                query,
                from_slots(tree.tree.nodes[number], tree.layout, bound),
                bound,
                bounds=bounds if isinstance(query.window, Window) else None,
                plain=self._relations.names_of(query.whole_query),
                keys=[
                    _decode_key(slot, field)
                    for slot, field in zip(tree.layout.key_columns, bound.keys, strict=True)
                ],
                null_keys={
                    name: self._null_key(query, key) for name, key in query.null_keys.items()
                },
            )
        # Windows that its tree saw only in part, or that another tree gives, are left out.
        first, until = self._running.limits(query.whole_query.name)
        conditions = [] if first is None else [f"{BEGIN} >= {first}L"]
        conditions += [] if until is None else [f"{BEGIN} < {until}L"]
        return replace(projected, condition=" AND ".join(conditions) or None)

    def _null_key(self, part: Query, key: str) -> str:
        """Returns the null of a key that a grouping set leaves out."""
        return f"CAST(NULL AS {self._relations.type_of(part.source, key).simpleString()})"


def _decode_key(slot: str, field: StructField) -> str:
    """Returns a key in its own type; not nullable where Spark's would not be."""
    code = key_code(field.dataType)
    value = slot
    if not field.nullable:
        value = f"coalesce({slot}, CAST('0' AS {KEY_TYPES[code.kind].simpleString()}))"
    return code.decode(value)
