"""Binds data windows to their data: types of keys, time, conditions, measures, aggregates."""

import re
from dataclasses import replace

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.types import BooleanType, NumericType, TimestampNTZType

from muntin.errors import RunError
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query, parts_of
from muntin.model.trees import DataTree
from muntin.model.windows.data_windows import Custom, DataWindow, Session
from muntin.optimizer.plan_for_stream import move_to_slices
from muntin.spark.binding.bind_periodic import is_compiled, is_order_known, reason_alone
from muntin.spark.binding.bound_tree import BoundDataTree
from muntin.spark.binding.grouping_sql import answer_types, selected, types_of_alone
from muntin.spark.binding.relations import Relations, blaming
from muntin.spark.binding.runtime_types import is_carried
from muntin.spark.error_text import first_line

# Time zones without a change of clocks. Any other may have had one.
_FIXED_ZONE = re.compile(r"(Etc/)?(Z|UTC|UT|GMT)?([+-][\d:]+)?")


def bind_data_trees(
    plan: Plan, relations: Relations, *, is_stream: bool = False
) -> tuple[Plan, tuple[BoundDataTree, ...]]:
    """Find the types. Sessions that the runtime does not take are left to Spark, and periodic
    windows to slices; any other window is an error, as Spark has none like it."""
    trees = [_bind_tree(tree, plan, relations) for tree in plan.data_trees]
    alone: dict[str, PlainQuery] = {}
    guests: dict[str, Query] = {}
    for bound in trees:
        for name, query in plan.queries_of(bound.tree).items():
            reason = _reason(query, bound, relations)
            if reason is None:
                reason = _reason_of_gap(query, bound, relations)
            if reason is None and not is_stream and _is_miscounted(query):
                reason = (
                    "in sessions, Spark counts a value of one DISTINCT beside another one, or "
                    "with a FILTER, each time that it comes after a gap"
                )
            if reason is None:
                continue
            if query.is_periodic:
                guests[name] = query
                continue
            if not isinstance(query.window, Session):
                raise RunError(
                    f"query {name!r}: {reason}, and Spark has no window such as {query.window}"
                )
            alone[name] = PlainQuery(
                name=name, statement=query.to_sql(), reason=reason, window=query.window
            )
    if not alone and not guests:
        return plan, tuple(trees)
    if guests:
        plan = move_to_slices(plan, guests.values())
    left = [query for query in parts_of(plan.queries) if query.name not in alone | guests]
    trees = [replace(bound, tree=bound.tree.answering(left)) for bound in trees]
    trees = [bound for bound in trees if bound.tree.nodes]
    plan = plan.with_trees(
        data=(bound.tree for bound in trees),
        queries=tuple(alone.get(query.name, query) for query in plan.queries),
    )
    return plan, tuple(trees)


def _bind_tree(tree: DataTree, plan: Plan, relations: Relations) -> BoundDataTree:
    queries = plan.queries_of(tree).values()
    try:
        known = types_of_alone(tree, plan.queries_of(tree), relations)
        known = known or answer_types([tree.grouping], tree.aggregates, relations)
    except (AnalysisException, ParseException) as error:
        # Some query is wrong: find out which, so that the error can name it.
        for query in queries:
            with blaming(query):
                answer_types([tree.grouping], tuple(query.aggregates.values()), relations)
        raise RunError(f"the queries of {tree.grouping}: {first_line(error)}") from None
    for query in queries:
        _check_window(query, relations)
    keys, time_type, types = known.of(tree.grouping, tree.aggregates)
    return BoundDataTree(tree=tree, time_type=time_type, keys=keys, types=types)


def _check_window(query: Query, relations: Relations) -> None:
    """Refuse conditions that are not boolean, measures that are no numbers, and unknown columns."""
    kind = query.window
    if not isinstance(kind, DataWindow):
        return
    asked = {f"b{index}": sql for index, sql in enumerate(kind.conditions)}
    read = {f"m{index}": sql for index, sql in enumerate(kind.measures)}
    seen = dict(kind.columns) if isinstance(kind, Custom) else {}
    columns = {**asked, **read, **seen}
    if not columns:
        return
    with blaming(query):
        schema = relations.sql(
            selected(query.grouping, {name: f"({sql})" for name, sql in columns.items()})
        ).schema
    for name, sql in asked.items():
        if not isinstance(schema[name].dataType, BooleanType):
            kind_name = schema[name].dataType.simpleString()
            raise RunError(
                f"query {query.name!r}: {sql} must be a condition, and it is {kind_name}"
            )
    for name, sql in read.items():
        if not isinstance(schema[name].dataType, NumericType):
            kind_name = schema[name].dataType.simpleString()
            raise RunError(f"query {query.name!r}: {sql} must be a number, and it is {kind_name}")


def _is_miscounted(query: Query) -> bool:
    """Whether Spark's own answer has values several times that are to be distinct.

    It aggregates by the values first, and merges the sessions of each value for itself. With one
    DISTINCT it then merges the values of a session; with several, or a FILTER, it does not.
    """
    distinct = [
        aggregate
        for aggregate in query.aggregates.values()
        if aggregate.definition.distinct_of is not None
    ]
    columns = {frozenset((each.argument, *each.others)) for each in distinct}
    is_filtered = any(each.where is not None for each in distinct)
    return isinstance(query.window, Session) and (len(columns) > 1 or is_filtered)


def _reason_of_gap(query: Query, bound: BoundDataTree, relations: Relations) -> str | None:
    """Returns why only Spark knows how long the gap of a session is; None if it is no session, or
    always has one length."""
    window = query.window
    if not isinstance(window, Session) or not window.days:
        return None
    if isinstance(bound.time_type, TimestampNTZType):
        # Local times have no clock that changes.
        return None
    zone = relations.session.conf.get("spark.sql.session.timeZone")
    if zone is not None and _FIXED_ZONE.fullmatch(zone):
        return None
    return (
        f"the days of its gap are those of {zone}, where a day in which clocks change is shorter "
        f"or longer; write '24 hours' for a day, or set spark.sql.session.timeZone to UTC"
    )


def _reason(query: Query, bound: BoundDataTree, relations: Relations) -> str | None:
    """Returns why the runtime cannot answer a query of these types; None if it can."""
    reason = reason_alone(query, bound.types, relations)
    if reason is not None:
        return reason
    for field in bound.keys:
        if not is_carried(field.dataType):
            return f"a key of the type {field.dataType.simpleString()} is compared by Spark alone"
    for aggregate in query.aggregates.values():
        is_taken = is_compiled(aggregate, bound.types)
        if not is_taken or not is_order_known(aggregate, bound.tree.grouping.relation, relations):
            kind = bound.types[aggregate].simpleString()
            return f"{aggregate} is {kind}, which Spark alone combines"
    return None
