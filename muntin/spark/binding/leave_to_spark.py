"""Decides which queries are left to Spark, because of their types or the session's settings."""

import re
from collections.abc import Mapping

from pyspark.sql.types import (
    BinaryType,
    DoubleType,
    NumericType,
    StringType,
    StructField,
    TimestampNTZType,
)

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.table import DOUBLE, TEXT
from muntin.model.data_windows import Session
from muntin.model.passes import Engine
from muntin.model.plan import Plan, with_own_passes
from muntin.model.query import PlainQuery, Query, parts_of
from muntin.spark.binding.bound_tree import BoundDataTree, BoundPeriodicTree, BoundTree, Types
from muntin.spark.binding.relations import (
    Relations,
    has_legacy_statistics,
    is_ansi,
    is_case_sensitive,
)
from muntin.spark.binding.runtime_types import (
    can_be_key,
    is_compiled,
    is_hashed_alike,
    is_order_known,
)
from muntin.sql_text import SqlText, quote_name

# Settings that change the type of `grouping_id`, or the order of its bits.
_OTHER_MARKS = (
    "spark.sql.legacy.integerGroupingId",
    "spark.sql.legacy.groupingIdWithAppendedUserGroupBy",
)
# Time zones without a change of clocks. Any other may have had one.
_FIXED_ZONE = re.compile(r"(Etc/)?(Z|UTC|UT|GMT)?([+-][\d:]+)?")


def leave_to_spark(plan: Plan, reasons: Mapping[str, str]) -> Plan:
    """Returns a plan that leaves some queries to Spark, with the reason for each."""
    if not reasons:
        return plan
    plain = {
        query.name: PlainQuery(
            name=query.name,
            statement=query.to_sql(),
            reason=reasons[query.name],
            window=query.window,
        )
        for query in plan.queries
        if isinstance(query, Query) and query.name in reasons
    }
    return plan_for_queries(plan, tuple(plain.get(query.name, query) for query in plan.queries))


def plan_for_queries(plan: Plan, queries: tuple[Query | PlainQuery, ...]) -> Plan:
    """Returns the plan of some of its queries: its trees without the nodes of the others.

    A plain query may take the place of a query of the same name.
    """
    parts = parts_of(queries)
    periodic = [tree.restrict_to(parts) for tree in plan.periodic_trees]
    data = [tree.restrict_to(parts) for tree in plan.data_trees]
    return plan.with_trees(
        periodic=with_own_passes([tree for tree in periodic if tree.nodes]),
        data=[tree for tree in data if tree.nodes],
        queries=queries,
    )


def reason_of_periodic(query: Query, bound: BoundPeriodicTree, relations: Relations) -> str | None:
    """Returns why Spark must answer a query with a periodic window; None if slices can."""
    reason = _reason_of_query(query, bound, relations)
    if reason is not None or bound.tree.engine is Engine.SPARK:
        return reason
    # Only compiled code combines some aggregates. Then it must take the others and the keys.
    by_spark = [each for each in query.aggregates.values() if bound.engines[each] is Engine.SPARK]
    compiled = [each for each in query.aggregates.values() if not each.definition.is_native]
    if not by_spark or not compiled:
        return None
    key = _foreign_key(bound)
    if key is not None:
        kind = key.dataType.simpleString()
        return f"only compiled code combines {compiled[0]}, and it takes no keys of {kind}"
    if by_spark[0] == compiled[0]:
        return f"compiled code does not take {compiled[0]} of such values"
    return f"only compiled code combines {compiled[0]}, and it does not take {by_spark[0]}"


def reason_of_records(
    query: Query, bound: BoundDataTree, relations: Relations, *, is_stream: bool
) -> str | None:
    """Returns why records cannot answer a query of a tree of data windows; None if they can."""
    reason = _reason_of_query(query, bound, relations)
    if reason is not None:
        return reason
    key = _foreign_key(bound)
    if key is not None:
        return f"a key of the type {key.dataType.simpleString()} is compared by Spark alone"
    for aggregate in query.aggregates.values():
        is_taken = is_compiled(aggregate, bound.types)
        if not is_taken or not is_order_known(aggregate, bound.tree.grouping.relation, relations):
            kind = bound.types[aggregate].simpleString()
            return f"{aggregate} is {kind}, which Spark alone combines"
    if not isinstance(query.window, Session):
        return None
    reason = _reason_of_gap(query.window, bound, relations)
    if reason is None and not is_stream and _is_miscounted(query):
        return (
            "in sessions, Spark counts a value of one DISTINCT beside another one, or "
            "with a FILTER, each time that it comes after a gap"
        )
    return reason


def _foreign_key(bound: BoundTree) -> StructField | None:
    """Returns the first key that the compiled runtime does not take, if there is one."""
    return next((field for field in bound.keys if not can_be_key(field.dataType)), None)


def _reason_of_gap(window: Session, bound: BoundTree, relations: Relations) -> str | None:
    """Returns why only Spark knows how long a session's gap is; None if it has one length."""
    # Days of local time are all 24 hours long.
    if not window.days or isinstance(bound.time_type, TimestampNTZType):
        return None
    zone = relations.session.conf.get("spark.sql.session.timeZone")
    if zone is not None and _FIXED_ZONE.fullmatch(zone):
        return None
    return (
        f"the days of its gap are those of {zone}, where a day in which clocks change is shorter "
        f"or longer; write '24 hours' for a day, or set spark.sql.session.timeZone to UTC"
    )


def _is_miscounted(query: Query) -> bool:
    """Whether Spark's own answer counts distinct values of sessions several times.

    It aggregates by the values first, and merges the sessions of each value for itself. With one
    DISTINCT it then merges the values of a session; with several, or a FILTER, it does not.
    """
    distinct = [
        aggregate
        for aggregate in query.aggregates.values()
        if aggregate.definition.distinct_of is not None
    ]
    columns = {frozenset((each.argument, *each.others)) for each in distinct}
    return len(columns) > 1 or any(each.where is not None for each in distinct)


def _reason_of_query(query: Query, bound: BoundTree, relations: Relations) -> str | None:
    """Returns why no partials of this data can answer a query; None if they can."""
    reason = _reason_of_names(query, relations)
    if reason is not None:
        return reason
    for aggregate in query.aggregates.values():
        reason = _reason_of_aggregate(aggregate, query.source, bound.types, relations)
        if reason is not None:
            return reason
    return None


def _reason_of_names(query: Query, relations: Relations) -> str | None:
    # Settings are looked up last: each is a call of the JVM, and there may be very many queries.
    if query.mixes_case and is_case_sensitive(relations.session):
        return "spark.sql.caseSensitive is on, and it spells a column in two cases"
    if query.names_window:
        columns = relations.rows(query.source).columns
        tells_cases_apart = is_case_sensitive(relations.session)
        if "window" in (columns if tells_cases_apart else map(str.lower, columns)):
            return "its source has a column that is called window, too"
    for name in query.item_names:
        if _is_of_other_type(name, query, relations):
            return f"in HAVING, {name} may mean a column of its source or an item of SELECT"
    if query.marks:
        for setting in _OTHER_MARKS:
            if relations.session.conf.get(setting, "false") == "true":
                return f"{setting} is on"
    return None


def _is_of_other_type(name: str, query: Query, relations: Relations) -> bool:
    """Whether an item of SELECT has the name of a column of the source, and another type.

    Spark resolves names in HAVING as columns of the source first, and casts what they are compared
    with. If the column is no key, it then takes the item in its place, and leaves the casts.
    """
    columns = [
        each for each in relations.rows(query.source).columns if each.lower() == name.lower()
    ]
    if not columns:
        return False
    items = relations.check(query.whole_query).schema.fields
    types = [each.dataType for each in items if each.name.lower() == name.lower()]
    return len(columns) > 1 or types != [relations.type_of(query.source, quote_name(columns[0]))]


def _reason_of_aggregate(
    aggregate: Aggregate, source: SqlText, types: Types, relations: Relations
) -> str | None:
    row = aggregate.definition
    kind = types[aggregate]
    if row.result == DOUBLE and not isinstance(kind, DoubleType):
        return f"{aggregate} is {kind.simpleString()}, which Spark rounds once, at the end"
    if "registers" in row.parts or row.result == TEXT:
        reason = _reason_of_argument(aggregate, source, relations)
        if reason is not None:
            return reason
    if row.has_legacy and has_legacy_statistics(relations.session):
        return "spark.sql.legacy.statisticalAggregate is on"
    if row.casts_to_double and not is_ansi(relations.session):
        # In a partial, text that is no number would look like a null.
        for argument in aggregate.components[0].arguments:
            argument_type = relations.type_of(source, argument)
            if not isinstance(argument_type, NumericType):
                return (
                    f"{aggregate} is of {argument_type.simpleString()}, which Spark casts "
                    f"value by value; write CAST({argument} AS DOUBLE) in its place"
                )
    return None


def _reason_of_argument(aggregate: Aggregate, source: SqlText, relations: Relations) -> str | None:
    argument = relations.type_of(source, aggregate.argument)
    kind = argument.simpleString()
    if "registers" in aggregate.definition.parts and not is_hashed_alike(argument):
        return f"{aggregate} is of {kind}, which xxhash64 may hash otherwise than it does"
    is_text = isinstance(argument, BinaryType) or argument == StringType()
    if aggregate.definition.result == TEXT and not is_text:
        return f"{aggregate} is of {kind}, which is ordered otherwise than text without collation"
    return None
