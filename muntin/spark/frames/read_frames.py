"""Reads DataFrames as queries over the relations that they have in common."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from muntin.model.query import PlainQuery
from muntin.spark.engine.catalyst import analyzed_plan
from muntin.spark.engine.session_kind import is_connect, may_use_internals
from muntin.spark.frames.frame_queries import ReadFrames, frame_table, select_frame, session_of
from muntin.spark.frames.resolved.read_resolved import read_resolved
from muntin.spark.frames.resolved.time_window import first_window
from muntin.spark.frames.unresolved.read_unresolved import read_unresolved

_NOT_READ = (
    "plans of DataFrames are internal to Spark, and MUNTIN_JVM or spark.muntin.jvm is 'public'; "
    "write the query as SQL"
)


def read_frames(frames: Mapping[str, DataFrame], *, own_definitions: bool = False) -> ReadFrames:
    """Returns DataFrames as queries; one that cannot share is a plain query.

    Call `misread_reasons` for the queries that are not answered by their own DataFrames.
    With `own_definitions` a query depends on its own DataFrame alone, so that a stream finds its
    state again when other DataFrames come and go. Without, operators that all have in common are
    computed once, below the queries.
    """
    session = session_of(frames)
    has_plans = may_use_internals(session)
    reasons: dict[str, str] = {}
    if is_connect(session):
        groups = read_unresolved(frames, session, reasons, own_definitions=own_definitions)
    elif has_plans:
        groups = read_resolved(frames, session, reasons, own_definitions=own_definitions)
    else:
        groups, reasons = [], dict.fromkeys(frames, _NOT_READ)
    shared = {name: each for group in groups for name, each in group.members.items()}
    return ReadFrames(
        queries=tuple(
            shared[name].query
            if name in shared
            else PlainQuery(
                name=name,
                statement=select_frame(name),
                reason=reasons[name],
                window=first_window(analyzed_plan(frame)) if has_plans else None,
            )
            for name, frame in frames.items()
        ),
        frames={frame_table(name): frame for name, frame in frames.items()},
        relations={group.table: group.frame for group in groups if group.members},
        reasons=reasons,
        watermarks={n: each.watermark for n, each in shared.items() if each.watermark is not None},
        confirmations={n: each.confirm for n, each in shared.items() if each.confirm is not None},
    )
