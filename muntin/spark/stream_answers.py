"""The operator's answers as what queries asked for: the same projection as in batch."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.functions import count_if, expr
from pyspark.sql.functions import max as max_of
from pyspark.sql.types import StructField

from muntin.errors import RunError
from muntin.model.aggregate import Aggregate
from muntin.model.plan import Node, Tree
from muntin.model.query import Query
from muntin.runtime.layout import Layout, slots_of
from muntin.runtime.running import Running, RunningLane
from muntin.runtime.tree import BEGIN, NODE
from muntin.spark.bind import BoundTree
from muntin.spark.project import Projection, from_slots, projection
from muntin.spark.relations import Relations, blaming, first_line
from muntin.spark.stream_keys import KEY_TYPES, is_instant, key_code
from muntin.spark.stream_slices import LANE
from muntin.spark.together import pick, stack


class StreamAnswers:
    """What each query makes of the rows of its lane and node."""

    def __init__(
        self, running: Running, bound: Mapping[int, BoundTree], relations: Relations
    ) -> None:
        self._running = running
        self._bound = bound
        self._relations = relations
        self.places = {
            name: (lane, number)
            for lane in running.lanes
            for number, node in enumerate(lane.tree.nodes)
            for name in node.queries
        }
        self._projections = {name: self._projection(name) for name in self.places}

    def of(self, name: str, answers: DataFrame) -> DataFrame:
        """One query's answers."""
        return self._projections[name].apply(answers.where(self._here(name)))

    def together(self, answers: DataFrame) -> DataFrame:
        """The long form: the query's name, then the columns of all queries by name."""
        nodes = [node for lane in self._running.lanes for node in lane.tree.nodes]
        # Nodes of all lanes in one row of numbers, so that the operator stands in the plan once.
        first, cases = 0, []
        for lane in self._running.lanes:
            cases.append(f"WHEN {LANE} = {lane.number} THEN {NODE} + {first}")
            first += len(lane.tree.nodes)
        numbered = answers.withColumn(NODE, expr(f"CASE {' '.join(cases)} END"))
        sizes = pick([f"{node.window.size}L" for node in nodes], NODE)
        projections = {name: self._projection(name, sizes) for name in self.places}
        try:
            return stack(projections, nodes, numbered)
        except AnalysisException as error:
            raise RunError(
                f"two queries have a column of one name and types that do not go together: "
                f"{first_line(error)}"
            ) from None

    def counted(self, answers: DataFrame) -> dict[str, tuple[int, int | None]]:
        """How many rows each query has among some answers, and the latest begin; in one job."""
        columns = []
        for index, name in enumerate(self.places):
            having = self._projections[name].having
            here = self._here(name) + ("" if having is None else f" AND ({having})")
            columns.append(count_if(expr(here)).alias(f"n{index}"))
            columns.append(max_of(expr(f"CASE WHEN {here} THEN {BEGIN} END")).alias(f"b{index}"))
        found = answers.agg(*columns).first()
        assert found is not None
        return {name: (found[2 * i], found[2 * i + 1]) for i, name in enumerate(self.places)}

    def _here(self, name: str) -> str:
        """Whether a row of answers belongs to a query's node."""
        lane, number = self.places[name]
        return f"{LANE} = {lane.number} AND {NODE} = {number}"

    def _projection(self, name: str, size: str | None = None) -> Projection:
        lane, number = self.places[name]
        bound = self._bound[lane.number]
        query = self._running.plan.query(name)
        assert isinstance(query, Query)
        unnamed = any(column.name is None for column in query.columns)
        with blaming(query):
            found = projection(
                query,
                _from_slots(lane.tree.nodes[number], self._layout(lane), bound),
                bound,
                size=size or f"{query.window.size}L",
                plain=self._relations.check(query).schema if unnamed else None,
                keys=[
                    _decoded(slot, field)
                    for slot, field in zip(lane.key_slots, bound.keys, strict=True)
                ],
            )
        first = self._running.complete_from[name]
        if first is None:
            return found
        # Windows that the query saw only in part.
        whole = f"{BEGIN} >= {first}L"
        return replace(
            found, having=whole if found.having is None else f"{whole} AND ({found.having})"
        )

    def _layout(self, lane: RunningLane) -> Layout:
        return lane.at_run_time(checked=self._running.checked, retain=self._running.retain).layout


def _from_slots(node: Node, layout: Layout, bound: BoundTree) -> dict[Aggregate, str]:
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


def tree_names(tree: Tree) -> list[str]:
    """The queries that a tree answers."""
    return [name for node in tree.nodes for name in node.queries]
