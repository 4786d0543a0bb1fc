"""A stream whose queries read its rows, or joins of it with static tables."""

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.query import Grouping
from muntin.spark.binding.relations import Relations, name_query_in_errors
from muntin.spark.engine.catalyst import analyzed_plan, node_name, to_list
from muntin.spark.engine.plan_reuse import same_rows
from muntin.spark.engine.stream_paths import (
    FILTER,
    JOIN,
    StreamPath,
    path_of,
    source_column,
    watermarks_of,
)
from muntin.spark.frames.stream_frames import StreamInput
from muntin.spark.stream.joined_events import JoinedStream
from muntin.spark.stream.source import Source
from muntin.sql_text import SqlText, quote_name

# The data itself, in a query that names no table.
_DATA = SqlText(("", ""), ("",))


def source_of(given: StreamInput, *, late: bool = False) -> Source:
    """Returns the stream that queries read, alone or among static tables.

    Where `late` rows are wanted, the one join that all DataFrames read is the stream.
    """
    if given.tables is None:
        return Source(given.data, given.watermark, followed=given.followed)
    if late and len(given.tables) == 1:
        ((table, data),) = given.tables.items()
        is_marked = watermarks_of(data).calls > 0
        return Source(data, given.watermark, followed=given.followed if is_marked else table)
    return JoinedSource(given)


class JoinedSource(Source):
    """A stream, and tables by name: it, its joins, and static tables."""

    def __init__(self, given: StreamInput) -> None:
        super().__init__(given.data, given.watermark, followed=given.followed)
        # A query that names no table reads the stream.
        self._tables = {**(given.tables or {}), "": given.data}
        self._operators = len(path_of(analyzed_plan(given.data)).operators)

    def _find_relations(self, plan: Plan) -> tuple[Relations, str, JoinedStream | None]:
        """Returns what the queries read, the column that the watermark follows, and the stream
        below their joins, if they have some."""
        relations = Relations(self._tables, plan.queries, streaming=True)
        several = {tree.grouping.relation for tree in plan.trees}
        if len(several) == 1 and relations.frame(*several) is self.data:
            return super()._find_relations(plan)
        paths: dict[SqlText, StreamPath] = {}
        times: dict[int, str] = {}
        for tree in plan.trees:
            query = next(iter(plan.queries_of(tree).values())).whole_query
            with name_query_in_errors(query):
                path, place = self._path(tree.grouping, query.name, relations)
            paths[tree.grouping.relation] = path
            times.setdefault(place, query.name)
        if len(times) > 1:
            named = (
                f"query {query!r} {self.data.columns[place]}" for place, query in times.items()
            )
            raise RunError(f"a stream has one time, and there are several: {', '.join(named)}")
        column = self.data.columns[next(iter(times))]
        own = Grouping(relation=_DATA, time=quote_name(column), where=None, keys=())
        frame, watched = self._with_watermark(own)
        whole = (relation for relation, path in paths.items() if self._has_every_row(path))
        joined = JoinedStream(
            frame=frame, watched=watched, operators=self._operators, whole=next(whole, None)
        )
        return relations, watched, joined

    def _path(self, grouping: Grouping, query: str, relations: Relations) -> tuple[StreamPath, int]:
        """Returns what a grouping reads of the stream, and the place of the column that is its
        time."""
        statement = analyzed_plan(
            relations.sql(grouping.relation.surround(f"SELECT {grouping.time} FROM ", ""))
        )
        path = path_of(statement)
        if len(path.operators) < self._operators or not same_rows(
            path.plan_at(self._operators), analyzed_plan(self.data), self.session
        ):
            raise RunError(
                f"query {query!r} cannot be streamed together with others: it reads "
                f"{grouping.relation}, and the queries of a stream read its rows, or its inner and "
                f"left joins with static tables; start a pipeline for it"
            )
        (time,) = to_list(statement.output())
        place = source_column(path, self._operators, time)
        marked = path.watermark
        if marked is not None and marked >= self._operators:
            watched = path.operators[marked].eventTime()
            if source_column(path, self._operators, watched) != place:
                raise RunError(
                    f"query {query!r} cannot be streamed: its watermark is on another column than "
                    f"its window"
                )
        if place is None:
            raise RunError(
                f"query {query!r}: the time of a stream that is joined with tables is a column of "
                f"the stream, and {grouping.time!r} is not; add it with withColumn"
            )
        return path, place

    def _has_every_row(self, path: StreamPath) -> bool:
        own = path.operators[self._operators :]
        return not any(node_name(operator) in {FILTER, JOIN} for operator in own)
