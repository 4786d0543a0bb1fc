"""The operator's answers as what queries asked for: the same projection as in batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import count_if, expr
from pyspark.sql.functions import max as max_of
from pyspark.sql.types import StructField, StructType

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.plan import Node
from muntin.model.query import Query
from muntin.model.record_tree import RecordNode
from muntin.model.windows.data_windows import DataWindow
from muntin.model.windows.window import Window
from muntin.runtime.columns.layout import Layout, slots_of
from muntin.runtime.periodic.tree import BEGIN, NODE
from muntin.runtime.state.record_lane import RunningRecords
from muntin.runtime.stream_plan.stream_plan import RunningLane, StreamPlan
from muntin.spark.binding.bind_periodic import BoundTree
from muntin.spark.binding.bound_tree import AnyBoundTree
from muntin.spark.binding.relations import Relations, blaming, blaming_one
from muntin.spark.output.naming import NUMBER
from muntin.spark.output.project import Projection, from_slots, projection
from muntin.spark.output.together import (
    QUERY,
    Numbered,
    check_names,
    may_be_null,
    numbered,
    pick,
    stack,
)
from muntin.spark.pipeline.reports import Report
from muntin.spark.stream.key_codes import KEY_TYPES, is_instant, key_code
from muntin.spark.stream.packing import LANE
from muntin.spark.stream.stream_records import BoundRecords

# What Spark's reports call the counts of answers.
_OBSERVED = "muntin"


class StreamAnswers:
    """What each query makes of the rows of its lane and node."""

    def __init__(
        self,
        running: StreamPlan,
        bound: Mapping[int, BoundTree],
        records: Mapping[int, BoundRecords],
        relations: Relations,
    ) -> None:
        self._running = running
        self._bound: dict[int, AnyBoundTree] = {
            **bound,
            **{number: one.bound for number, one in records.items()},
        }
        self._layouts = {lane.number: self._layout(lane) for lane in running.lanes}
        self._layouts |= {number: one.layout.layout for number, one in records.items()}
        self._relations = relations
        self._lanes: list[RunningLane | RunningRecords] = [*running.lanes, *running.records]
        self.places: dict[str, tuple[RunningLane | RunningRecords, int]] = {}
        for lane in self._lanes:
            nodes: Sequence[Node | RecordNode] = lane.tree.nodes
            for number, node in enumerate(nodes):
                self.places.update(dict.fromkeys(node.queries, (lane, number)))
        self._projections = {name: self._projection(name) for name in self.places}

    def of(self, name: str, answers: DataFrame) -> DataFrame:
        """One query's answers."""
        return self._projections[name].apply(answers.where(self._here(name)))

    def of_numbered(self, name: str, rows: DataFrame) -> DataFrame:
        """The same, from rows of `numbered`."""
        number = list(self.places).index(name)
        return self._projections[name].apply(rows.where(f"{NUMBER} = {number}"))

    def together(self, answers: DataFrame) -> DataFrame:
        """The long form: the query's name, then the columns of all queries by name."""
        check_names(
            {name: [one.name for one in each.outputs] for name, each in self._projections.items()},
            QUERY,
        )
        return stack(self._any_size, self._nodes, self._nodes_numbered(answers))

    def observed(self, rows: Numbered) -> Numbered:
        """The rows, of which Spark's reports then say how many each query has (`counts_in`)."""
        return replace(rows, frame=rows.frame.observe(_OBSERVED, *self._counts()))

    def counts_in(self, report: Report) -> dict[str, tuple[int, int | None]]:
        """How many rows each query had in a batch, and the latest begin."""
        found = report.get("observedMetrics", {}).get(_OBSERVED)
        return {} if found is None else self._named_counts(found)

    def counted(self, rows: DataFrame) -> dict[str, tuple[int, int | None]]:
        """The same of rows of `numbered`, in a job."""
        found = rows.agg(*self._counts()).first()
        assert found is not None
        return self._named_counts(found.asDict())

    def numbered(self, answers: DataFrame) -> Numbered:
        """Each row once for every query that asks for it, with the query's number."""

        def answer(name: str) -> DataFrame:
            with blaming(self._query(name)):
                return self.of(name, answers)

        with blaming_one(answer, self.places):
            return numbered(self._any_size, self._nodes, self._nodes_numbered(answers))

    def schemas(self, rows: Numbered) -> dict[str, StructType]:
        """The columns of each query's answers."""
        outputs = [(name, output) for name, one in rows.outputs.items() for output in one]
        # All columns of all queries in one frame: Spark finds their types at once.
        columns_of_all = (
            expr(output.sql).alias(f"c{index}") for index, (_, output) in enumerate(outputs)
        )
        types = rows.frame.select(*columns_of_all).schema.fields
        found: dict[str, StructType] = {}
        for (name, output), field in zip(outputs, types, strict=True):
            found.setdefault(name, StructType()).add(output.name, field.dataType)
        return found

    def _counts(self) -> list[Column]:
        """For each query its number of rows and their latest begin, as aggregates."""
        columns = []
        for index in range(len(self.places)):
            here = f"{NUMBER} = {index}"
            columns.append(count_if(expr(here)).alias(f"n{index}"))
            columns.append(max_of(expr(f"CASE WHEN {here} THEN {BEGIN} END")).alias(f"b{index}"))
        return columns

    def _named_counts(self, found: Mapping[str, int]) -> dict[str, tuple[int, int | None]]:
        # Of a report nulls are left out.
        return {
            name: (found[f"n{index}"], found.get(f"b{index}"))
            for index, name in enumerate(self.places)
        }

    @cached_property
    def _nodes(self) -> list[Node | RecordNode]:
        return [node for lane in self._lanes for node in lane.tree.nodes]

    @cached_property
    def _any_size(self) -> dict[str, Projection]:
        """Each query's projection over rows of any node, by its number among those of all lanes."""
        sizes = pick([_size(node.window) or "0L" for node in self._nodes], NODE)
        is_nullable = may_be_null(self._nodes)
        return {name: self._projection(name, sizes, is_nullable) for name in self.places}

    def _nodes_numbered(self, answers: DataFrame) -> DataFrame:
        """Nodes of all lanes in one row of numbers, so that the operator stands in a plan once."""
        if len(self._lanes) == 1:
            return answers
        first, cases = 0, []
        for lane in self._lanes:
            cases.append(f"WHEN {LANE} = {lane.number} THEN {NODE} + {first}")
            first += len(lane.tree.nodes)
        return answers.withColumn(NODE, expr(f"CASE {' '.join(cases)} END"))

    def _query(self, name: str) -> Query:
        query = self._running.plan.query(name)
        assert isinstance(query, Query)
        return query

    def _here(self, name: str) -> str:
        """Whether a row of answers belongs to a query's node."""
        lane, number = self.places[name]
        return f"{LANE} = {lane.number} AND {NODE} = {number}"

    def _projection(
        self, name: str, size: str | None = None, is_nullable: bool | None = None
    ) -> Projection:
        lane, number = self.places[name]
        bound = self._bound[lane.number]
        query = self._query(name)
        unnamed = any(column.name is None for column in query.columns)
        with blaming(query):
            found = projection(
                query,
                _from_slots(lane.tree.nodes[number], self._layouts[lane.number], bound),
                bound,
                size=_size(query.window) and (size or _size(query.window)),
                is_nullable=is_nullable,
                plain=self._relations.check(query).schema if unnamed else None,
                keys=[
                    _decoded(slot, field)
                    for slot, field in zip(lane.key_slots, bound.keys, strict=True)
                ],
            )
        first = self._running.complete_from[name]
        # Windows that the query saw only in part are left out.
        return found if first is None else replace(found, condition=f"{BEGIN} >= {first}L")

    def _layout(self, lane: RunningLane) -> Layout:
        return lane.at_run_time(ansi=self._running.ansi, retain=self._running.retain).layout


def _size(window: Window | DataWindow) -> str | None:
    """A window's size as SQL; other windows than periodic ones have an end of their own."""
    return f"{window.size}L" if isinstance(window, Window) else None


def _from_slots(
    node: Node | RecordNode, layout: Layout, bound: AnyBoundTree
) -> dict[Aggregate, str]:
    """Each aggregate of a node as SQL; extremes of instants were kept as integers."""
    found = from_slots(node, layout, bound)
    for aggregate, places in zip(node.aggregates, slots_of(node, layout), strict=True):
        if is_instant(bound.types[aggregate]):
            found[aggregate] = key_code(bound.types[aggregate]).decode(places[0])
    return found


def _decoded(slot: str, field: StructField) -> str:
    """A key as its own type; one that cannot be null says so, as Spark's would."""
    code = key_code(field.dataType)
    value = slot
    if not field.nullable:
        value = f"coalesce({slot}, CAST('0' AS {KEY_TYPES[code.kind].simpleString()}))"
    return code.decode(value)
