"""Runs a plan on a streaming DataFrame: events to slices, then one stateful operator."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from muntin.errors import RunError, nearest, not_a_dataframe
from muntin.model.plan import Plan
from muntin.model.plan_json import plan_to_json
from muntin.model.query import Grouping, PlainQuery, Query
from muntin.model.time import MILLISECOND, format_duration, parse_duration
from muntin.model.windows import Duration
from muntin.model.workload import Workload
from muntin.runtime.state.bucket import TreeDefinition
from muntin.runtime.stream_plan.change_plan import first_start, stores_alike
from muntin.runtime.stream_plan.stored_tree import Needs
from muntin.runtime.stream_plan.stream_plan import StreamPlan
from muntin.runtime.stream_plan.value_types import ValueTypes, retyped
from muntin.spark.binding.bind import bind
from muntin.spark.binding.bound_tree import BoundTree
from muntin.spark.binding.grouping_sql import time_to_micros
from muntin.spark.binding.relations import Relations, is_ansi, is_case_sensitive
from muntin.spark.engine.settings import SettingsOfAnalysis
from muntin.spark.engine.stream_paths import Watermarks, watermarks_of
from muntin.spark.error_text import first_line
from muntin.spark.frames.stream_frames import WATERMARK
from muntin.spark.stream.bound_stream_tree import (
    BoundStreamTree,
    bind_stream_tree,
    check_classes,
    value_types,
)
from muntin.spark.stream.event_columns import EventColumns, Events
from muntin.spark.stream.event_slices import packed_slices
from muntin.spark.stream.joined_events import JoinedEvents, JoinedStream
from muntin.spark.stream.operator import answer_slices, bucket_labels
from muntin.spark.stream.stream_answers import StreamAnswers
from muntin.sql_text import name_parts, quote_name

Queries = Plan | Workload | Query | PlainQuery | Iterable[Query | PlainQuery]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
# Settings that the operator's state needs: Spark keeps several states per key only in RocksDB.
SETTINGS = {
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A batch that is computed again, maybe under another plan, must not find state of its first
    # try. In format 2 the commit of a batch names the files of its state.
    STATE_FORMAT: "2",
}
# The column that the watermark follows if the queries' time is not an instant.
_WATCHED = "muntin_event_time"


class Source:
    """A streaming DataFrame and how late its rows may be."""

    def __init__(
        self, data: DataFrame, watermark: Duration | None, *, followed: str | None = None
    ) -> None:
        """`watermark` is how late rows may be; None if only the data says it, or nobody.

        `followed` is what queries call the rows that the watermark follows, if a filter or a join
        below it leaves out others of the stream.
        """
        if not isinstance(data, DataFrame):
            raise not_a_dataframe("data", data)
        if not data.isStreaming:
            raise RunError(
                "data is a batch DataFrame; mt.start and mt.stream take streaming DataFrames, "
                "mt.run runs the same plan on a batch"
            )
        self.data = data
        self.session = data.sparkSession
        # Those of the start: as a query of Spark's, a stream keeps them while it runs.
        self.settings = SettingsOfAnalysis(self.session)
        self._watermarks = watermarks_of(data)
        self.delay = _delay(self._watermarks, watermark)
        self._followed = followed
        # A warning, if nobody has said how late rows may be.
        self.warning: str | None = None
        if watermark is None and not self._watermarks.calls:
            self.warning = (
                f"no watermark was given, so rows may be late by {WATERMARK}; give watermark=, or "
                f"call withWatermark on the data"
            )
        # The plan that was bound last, as JSON, and what it was bound to.
        self._last: tuple[dict[str, Any], BoundStream] | None = None

    def bind(self, plan: Plan) -> "BoundStream":
        """Returns a plan with its types; refuses queries that cannot be streamed."""
        for query in plan.plain_queries:
            raise RunError(f"query {query.name!r} cannot be streamed: {query.reason}")
        for each in plan.queries:
            if isinstance(each, Query) and each.ending is not None:
                raise RunError(
                    f"query {each.name!r} cannot be streamed: a stream gives its answers window by "
                    f"window, and cannot end with {each.ending}; order what reads them"
                )
        check_classes(plan)
        # A change binds the same plan several times, and each time Spark would analyse it. Windows
        # and aggregates are compared, too: JSON has only the names of classes and functions.
        asked = [(q.window, dict(q.aggregates)) for q in plan.queries if isinstance(q, Query)]
        known = {**plan_to_json(plan), "asked": asked}
        if self._last is None or self._last[0] != known:
            with self.settings.restore():
                self._last = (known, self._bind(plan))
        return self._last[1]

    def first_start(
        self, bound: "BoundStream", *, buckets: int | None, partitions: int, retain: int
    ) -> StreamPlan:
        """Returns a plan as it runs from the first batch on, with no state yet.

        Its keys are in `buckets`; if this is None, in one for each of the `partitions` of state.
        """
        return first_start(
            bound.plan,
            bound.needs,
            buckets=bucket_labels(self.session, buckets, partitions=partitions),
            delay=self.delay,
            retain=retain,
            ansi=is_ansi(self.session),
            types=bound.types,
            followed_relations=bound.followed_relations(),
        )

    def _find_relations(self, plan: Plan) -> tuple[Relations, str, JoinedStream | None]:
        """Returns what the queries read, the column that the watermark follows, and the stream
        below their joins, if they have some."""
        frame, watched = self._with_watermark(self._grouping(plan))
        return Relations(frame, plan.queries, streaming=True), watched, None

    def _bind(self, plan: Plan) -> "BoundStream":
        try:
            relations, watched, joined = self._find_relations(plan)
        except AnalysisException as error:
            raise RunError(first_line(error)) from None
        bound = bind(plan, relations, is_stream=True)
        for query in bound.plan.plain_queries:
            raise RunError(f"query {query.name!r} cannot be streamed: {query.reason}")
        trees = [
            bind_stream_tree(tree, bound.plan, relations)
            for tree in (*bound.periodic_trees, *bound.data_trees)
        ]
        queries = [query for query in bound.plan.queries if isinstance(query, Query)]
        return BoundStream(
            plan=bound.plan,
            trees=trees,
            relations=relations,
            watched=watched,
            joined=joined,
            types=value_types(queries, trees, relations),
            is_one_stream=self._watermarks.bound_all_rows,
            followed=self._followed,
        )

    def _with_watermark(self, grouping: Grouping) -> tuple[DataFrame, str]:
        """Returns the data with a watermark on its time, and the column that the watermark
        follows."""
        data, time = self.data, grouping.time
        column = self._time_column(grouping)
        if self._watermarks.calls:
            # Spark takes no other watermark above one.
            if column is None or column not in self._watermarks.delays:
                own = " and ".join(map(repr, self._watermarks.delays))
                raise RunError(
                    f"the data has a watermark on {own}, and the time of the queries is "
                    f"{grouping.time!r}; call withWatermark on the column that is their time, or "
                    f"leave it out and give watermark="
                )
            return data, column
        if column is not None:
            time = quote_name(column)
        alias = grouping.relation.alias
        instant = data.alias(alias) if alias else data
        try:
            kind = instant.select(expr(time)).schema.fields[0].dataType
        except AnalysisException:
            raise RunError(
                f"the time of a stream is a column of it or an expression over its columns, and "
                f"{grouping.time!r} is not; {nearest(grouping.time, data.columns)}"
            ) from None
        if not isinstance(kind, TimestampType | TimestampNTZType):
            raise RunError(
                f"the time of a stream is a timestamp, and {grouping.time} is "
                f"{kind.simpleString()}; cast it, with withColumn or in the query's time, as in "
                f"CAST({grouping.time} AS TIMESTAMP)"
            )
        if column is None or isinstance(kind, TimestampNTZType):
            # Spark watches only columns that are instants, so a local time is read as if it were
            # UTC.
            local = isinstance(kind, TimestampNTZType)
            sql = f"timestamp_micros({time_to_micros(time, kind)})" if local else time
            data, column = instant.select("*", expr(sql).alias(_WATCHED)), _WATCHED
        delay = f"{self.delay // MILLISECOND} milliseconds"
        return data.withWatermark(quote_name(column), delay), column

    def _time_column(self, grouping: Grouping) -> str | None:
        """Returns the column of the data that is a grouping's time; None if it is an expression."""
        parts = name_parts(grouping.time)
        alias = grouping.relation.alias
        if len(parts) == 2 and (
            self._is_same(parts[0], alias)
            if alias is not None
            else not any(self._is_same(parts[0], column) for column in self.data.columns)
        ):
            parts = parts[1:]
        if len(parts) > 1:
            return None
        return next(
            (column for column in self.data.columns if self._is_same(parts[0], column)), None
        )

    def _is_same(self, name: str, other: str) -> bool:
        """Whether two names are the same to Spark."""
        if is_case_sensitive(self.session):
            return name == other
        return name.lower() == other.lower()

    def _grouping(self, plan: Plan) -> Grouping:
        """Returns the grouping to take the time from; refuses queries that name different times."""
        named: dict[str, str] = {}
        for tree in plan.trees:
            time = self._time_column(tree.grouping) or tree.grouping.time
            named.setdefault(".".join(name_parts(time)).lower(), tree.queries[0])
        if len(named) > 1:
            times = ", ".join(f"query {query!r} names {time}" for time, query in named.items())
            raise RunError(f"a stream has one time, and {times}")
        return plan.trees[0].grouping


@dataclass(frozen=True, kw_only=True)
class BoundStream:
    """A plan that can run on a stream, and its trees, in their order."""

    plan: Plan
    trees: Sequence[BoundStreamTree]
    relations: Relations
    # The column that the watermark follows.
    watched: str
    # The stream below the joins of the queries, if they have some.
    joined: JoinedStream | None
    types: ValueTypes
    # Whether the watermark shows up to when events were read.
    is_one_stream: bool
    # The relation whose rows alone the watermark follows, if those are not all of the stream.
    followed: str | None

    @property
    def needs(self) -> list[Needs]:
        """What each tree needs columns for."""
        return [tree.needs for tree in self.trees]

    def has_types_of(self, running: StreamPlan) -> bool:
        """Whether what the plan reads has the types that a running plan of it was made for."""
        return not retyped(running.types, self.types) and stores_alike(running, self.needs)

    def followed_relations(self, before: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Returns the relations whose rows alone the watermark follows, or did in earlier runs."""
        now = () if self.followed is None else (self.followed,)
        return tuple(dict.fromkeys((*before, *now)))

    def rows(self) -> StructType:
        """Returns the columns of the rows that the queries read."""
        if self.joined is not None:
            raise RunError(
                "late= does not work with queries that join the stream with a table: a row may be "
                "too late for only some of its joins; leave it out"
            )
        (relation, *_) = (tree.grouping.relation for tree in self.plan.trees)
        schema = self.relations.sql(relation.surround("SELECT * FROM ", "")).schema
        return StructType([field for field in schema.fields if field.name != _WATCHED])

    def run(
        self,
        running: StreamPlan,
        *,
        late: StructType | None = None,
        definitions: Mapping[int, TreeDefinition] | None = None,
    ) -> tuple[DataFrame, StreamAnswers]:
        """Returns the operator's answers as a streaming DataFrame, and how queries read them.

        With `late`, the columns of whole rows, those that no open window takes are among them. With
        `definitions` of its trees, their state is found by these.
        """
        pairs = list(zip(running.trees, self.trees, strict=True))
        trees = [tree.at_run_time(stored, running) for stored, tree in pairs]
        bound = {stored.number: tree.bound for stored, tree in pairs}
        has_late = late is not None
        packed = packed_slices(
            trees,
            bound,
            {stored.number: tree.record_columns(stored) for stored, tree in pairs},
            self._events(list(bound.values())),
            buckets=running.buckets,
            late=late,
        )
        answers = answer_slices(packed, trees, late=has_late, definitions=definitions)
        return answers, StreamAnswers(running, trees, bound, self.relations, late=has_late)

    def _events(self, bound: Sequence[BoundTree]) -> Events:
        if self.joined is not None:
            return JoinedEvents(bound, self.relations, self.joined)
        return EventColumns(bound, self.relations, self.watched)


def _delay(own: Watermarks, watermark: Duration | None) -> int:
    """Returns how late rows may be: as was said, as the data says, or 10 seconds."""
    delay = parse_duration(WATERMARK if watermark is None else watermark)
    if delay < 0 or delay % MILLISECOND:
        raise RunError(f"a watermark is whole milliseconds, not {format_duration(delay)}")
    if not own.calls:
        return delay
    if not own.delays:
        raise RunError(
            "withWatermark was called on a column that the data does not have any more; select "
            "that column unchanged, or leave withWatermark out and give watermark="
        )
    longest = max(own.delays.values())
    if watermark is not None and delay != longest:
        raise RunError(
            f"a stream has one watermark, and there are several: the data's "
            f"{format_duration(longest)}, watermark= {format_duration(delay)}"
        )
    return longest
