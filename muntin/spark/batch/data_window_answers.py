"""Answers the queries of one tree of data windows, from records in order of time."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, expr, to_json
from pyspark.sql.types import DataType, DoubleType, FloatType, MapType

from muntin.model.query import Query
from muntin.runtime.data_windows.read_records import RecordLayout
from muntin.runtime.storage.layout import Layout
from muntin.spark.batch.compiled_answers import combine_records
from muntin.spark.batch.shared_answers import NodeAnswers, SharedAnswers
from muntin.spark.binding.bound_tree import BoundDataTree
from muntin.spark.binding.grouping_sql import (
    START,
    group_events,
    key_column,
    select_events,
    time_to_micros,
)
from muntin.spark.binding.relations import Relations, is_ansi
from muntin.spark.binding.slicer_columns import layout_of_records, record_columns
from muntin.spark.engine.plan_reuse import store, try_compute
from muntin.spark.output.project import from_slots
from muntin.sql_text import SqlText

# The time of the last event of a record.
_LAST = "last"


class DataWindowAnswers(SharedAnswers):
    """The answers of the queries of one tree of data windows.

    The first answer that is used computes all of them. A session query that is alone in its tree
    is left to Spark's `session_window`.
    """

    _trees: Sequence[BoundDataTree]

    @property
    def _bound(self) -> BoundDataTree:
        (bound,) = self._trees
        return bound

    @cached_property
    def _key_columns(self) -> Mapping[str, str]:
        keys = self._bound.tree.grouping.keys
        return {key: key_column(index) for index, key in enumerate(keys)}

    def _plain_answer(self, query: Query) -> DataFrame:
        # Spark moves a caller's filter on the bounds of sessions to before sessions are merged,
        # where each event has a session of its own. The answer would then have parts of sessions.
        # It moves no filter across a sample.
        return super()._plain_answer(query).sample(fraction=1.0, seed=0)

    def _is_computable(self, query: Query) -> bool:
        return self._are_computable

    @cached_property
    def _are_computable(self) -> bool:
        """Whether no event fails the queries.

        If one of several queries may fail, this computes all answers to find out.
        """
        if len(self.queries) == 1 or not self._relations.may_fail(self.queries.values()):
            return True
        return try_compute(self._store_answers())

    def _shared_answer(self, query: Query) -> DataFrame:
        if len(self.queries) > 1:
            self._store_answers()
        return self._answer_of(query, self._combine([query]))

    def _store_answers(self) -> DataFrame:
        if self._stored_answers is None:
            self._stored_answers = store(self._all_answers)
        return self._stored_answers

    @cached_property
    def _records(self) -> tuple[DataFrame, RecordLayout]:
        return _records_in_order(self._bound, self._relations)

    @property
    def _all_answers(self) -> DataFrame:
        return combine_records(self._bound.tree, *self._records)

    def _combine(self, parts: Sequence[Query], *, is_stored: bool = False) -> NodeAnswers:
        bound = self._bound
        nodes = bound.tree.nodes
        _, layout = self._records
        stored = self._stored_answers
        return NodeAnswers(
            nodes=nodes,
            frame=self._all_answers if stored is None else stored,
            aggregates={
                part.name: from_slots(nodes[bound.tree.node_index(part.name)], layout.layout, bound)
                for part in parts
            },
        )

    def release_answers(self) -> None:
        """Do nothing: later answers read what `stacks` stored."""

    def release(self) -> None:
        """Free Spark's storage."""
        super().release_answers()


def _records_in_order(bound: BoundDataTree, relations: Relations) -> tuple[DataFrame, RecordLayout]:
    """Returns a tree's records and their layout: one for each event, or one for each key and grain.

    Those of a key are in one partition, in order of time. Records of one time are ordered by all
    that windows and aggregates look at, so that answers do not depend on how the data was stored.
    """
    layout = layout_of_records(bound, relations)
    if bound.tree.grain is not None:
        text, names, record_layout = _select_grain_records(
            bound, layout, ansi=is_ansi(relations.session)
        )
    else:
        text, names, record_layout = _select_event_records(bound, relations, layout)
    keys = layout.key_columns
    frame = relations.sql(text).select(*keys, *names)
    by_key = frame.repartition(*keys) if keys else frame.repartition(1)
    order = [_sort_column(name, frame.schema[name].dataType) for name in names]
    return by_key.sortWithinPartitions(*keys, *order), record_layout


def _sort_column(name: str, kind: DataType) -> Column:
    """Returns what a column is sorted by: a map by its entries, a value with maps inside as text,
    since maps have no order. A user's class may read them."""
    if "map<" not in kind.simpleString():
        return col(name)
    if isinstance(kind, MapType) and "map<" not in kind.valueType.simpleString():
        return expr(f"sort_array(map_entries({name}))")
    return to_json(col(name))


def _select_grain_records(
    bound: BoundDataTree, layout: Layout, *, ansi: bool
) -> tuple[SqlText, list[str], RecordLayout]:
    """Selects one record for the events of a key within a grain, from the first to the last."""
    grouping = bound.tree.grouping
    time = time_to_micros(grouping.time, bound.time_type)
    columns = {START: f"min({time})", _LAST: f"max({time})"}
    for storage in layout.storages:
        name = storage.columns[0].split("_")[0]
        columns |= storage.component.group_by_columns(name, storage.value_type, ansi=ansi)
    text = group_events(grouping, f"{time} - pmod({time}, {bound.tree.grain}L)", columns)
    return text, list(columns), RecordLayout(layout=layout, last=_LAST)


def _select_event_records(
    bound: BoundDataTree, relations: Relations, layout: Layout
) -> tuple[SqlText, list[str], RecordLayout]:
    """Selects every event as a record, with its keys and its time."""
    grouping = bound.tree.grouping
    columns, record_layout = record_columns(bound, relations, layout)
    keys = {
        key_column(index): _plain_zero(key, bound.keys[index].dataType)
        for index, key in enumerate(grouping.keys)
    }
    columns = {START: time_to_micros(grouping.time, bound.time_type), **columns}
    text = select_events(grouping, {**keys, **columns})
    return text, list(columns), record_layout


def _plain_zero(key: str, kind: DataType) -> str:
    """Returns a key to distribute rows by, with 0.0 for -0.0: to Spark they are one key."""
    if isinstance(kind, FloatType | DoubleType):
        return f"IF(({key}) = 0, CAST(0 AS {kind.simpleString()}), {key})"
    return key
