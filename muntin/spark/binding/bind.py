"""Binds a plan to its data: finds the types of trees, and leaves queries to Spark."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql.types import BooleanType, DataType, NumericType

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.errors import MuntinError, RefusedError, RunError
from muntin.model.data_windows import Custom, DataWindow, Session
from muntin.model.passes import Engine
from muntin.model.plan import Plan, trees_by_family
from muntin.model.query import Family, Query
from muntin.model.trees import PeriodicTree, Tree
from muntin.optimizer.choose_techniques import with_techniques
from muntin.optimizer.plan_for_stream import move_to_slices
from muntin.optimizer.window_stacks import with_stream_techniques
from muntin.spark.binding.bound_tree import (
    AnswerTypes,
    BoundDataTree,
    BoundPeriodicTree,
    BoundPlan,
    BoundTree,
    answer_types,
    types_of_plain_answer,
    value_type_of,
)
from muntin.spark.binding.grouping_sql import select_events
from muntin.spark.binding.leave_to_spark import (
    leave_to_spark,
    plan_for_queries,
    reason_of_periodic,
    reason_of_records,
)
from muntin.spark.binding.relations import Relations, is_ansi, name_query_in_errors
from muntin.spark.binding.runtime_types import can_be_key, is_compiled, is_order_known
from muntin.spark.error_text import first_line
from muntin.sql.filters import is_reference

_Bound = TypeVar("_Bound", bound=BoundTree)
# Errors that may be raised when a plan is bound.
_FAILURES = (MuntinError, PySparkException)


def bind(plan: Plan, relations: Relations, *, is_stream: bool = False) -> BoundPlan:
    """Returns the plan with the Spark types that its trees read and answer.

    Queries whose types or settings only Spark can handle are left to Spark, with a reason. So is a
    query that cannot be bound for another reason, if Spark accepts it.
    """
    try:
        return _bind(plan, relations, is_stream=is_stream)
    except _FAILURES as error:
        if isinstance(error, RefusedError) or plan.workload.options.technique is not None:
            raise
        reasons: dict[str, str] = {}
        for query in (each for each in plan.queries if isinstance(each, Query)):
            reason = _why_unbound(query, plan, relations, is_stream=is_stream)
            if reason is not None:
                if not _has_window_of_spark(query):
                    raise
                relations.check(query)
                reasons[query.name] = reason
        if not reasons:
            raise
        return _bind(leave_to_spark(plan, reasons), relations, is_stream=is_stream)


def _why_unbound(query: Query, plan: Plan, relations: Relations, *, is_stream: bool) -> str | None:
    """Returns why a query cannot be bound by itself; None if it can."""
    try:
        _bind(plan_for_queries(plan, (query,)), relations, is_stream=is_stream)
    except RefusedError:
        raise
    except MuntinError as error:
        return str(error)
    except PySparkException as error:
        return first_line(error)
    return None


def _has_window_of_spark(query: Query) -> bool:
    """Whether Spark itself could answer a query: it has periodic windows and sessions."""
    return query.is_periodic or isinstance(query.window, Session)


def _bind(plan: Plan, relations: Relations, *, is_stream: bool) -> BoundPlan:
    data_trees: list[BoundDataTree] = []
    if plan.data_trees:
        plan, data_trees = _bind_data_trees(plan, relations, is_stream=is_stream)
    plan, periodic_trees = _bind_periodic_trees(plan, relations, is_stream=is_stream)
    return BoundPlan(plan=plan, periodic_trees=tuple(periodic_trees), data_trees=tuple(data_trees))


def _bind_data_trees(
    plan: Plan, relations: Relations, *, is_stream: bool
) -> tuple[Plan, list[BoundDataTree]]:
    """Returns the plan and its bound trees of data windows.

    Sessions of types that the runtime does not take are left to Spark, and periodic windows get
    trees of slices. Any other window of such types is an error, because Spark has none like it.
    """
    trees = []
    reasons: dict[str, str] = {}
    # Queries with periodic windows whose slices were to be made by a tree of data windows.
    guests: list[Query] = []
    for tree in plan.data_trees:
        queries = plan.queries_of(tree)
        types = _types_of(
            tree, queries.values(), relations, types_of_plain_answer(tree, queries, relations)
        )
        keys, time_type, of = types.of(tree.grouping, tree.aggregates)
        bound = BoundDataTree(tree=tree, time_type=time_type, keys=keys, types=of)
        trees.append(bound)
        for query in queries.values():
            _check_window(query, relations)
        for query in queries.values():
            reason = reason_of_records(query, bound, relations, is_stream=is_stream)
            if reason is None:
                continue
            if query.is_periodic:
                guests.append(query)
            elif isinstance(query.window, Session):
                reasons[query.name] = reason
            else:
                raise RunError(
                    f"query {query.name!r}: {reason}, and Spark has no window such as "
                    f"{query.window}"
                )
    if guests:
        plan = move_to_slices(plan, guests)
    plan = leave_to_spark(plan, reasons)
    return plan, _replace_trees(trees, plan.data_trees)


def _bind_periodic_trees(
    plan: Plan, relations: Relations, *, is_stream: bool
) -> tuple[Plan, list[BoundPeriodicTree]]:
    for query in plan.queries:
        if (
            isinstance(query, Query)
            and (query.sets is not None or (query.having and query.ending))
            and _has_window_of_spark(query)
        ):
            # Spark resolves less in the HAVING of grouping sets than in that of each set, and less
            # in ORDER BY above HAVING.
            relations.check(query)
    types_alone = [
        types_of_plain_answer(tree, plan.queries_of(tree), relations)
        for tree in plan.periodic_trees
    ]
    pairs = list(zip(plan.periodic_trees, types_alone, strict=True))
    by_family = _types_of_families([tree for tree, types in pairs if types is None], relations)
    trees = []
    reasons: dict[str, str] = {}
    for tree, alone in pairs:
        queries = plan.queries_of(tree).values()
        types = _types_of(tree, queries, relations, alone or by_family.get(tree.grouping.family))
        bound = _bind_periodic_tree(tree, types, relations)
        trees.append(bound)
        for part in queries:
            reason = reason_of_periodic(part, bound, relations)
            if reason is not None:
                # What holds for one grouping set holds for all, and Spark answers them at once.
                reasons[part.whole_query.name] = reason
    if reasons:
        plan = leave_to_spark(plan, reasons)
        trees = _replace_trees(trees, plan.periodic_trees)
    trees = [_with_techniques(each, plan, relations, is_stream=is_stream) for each in trees]
    return plan.with_trees(periodic=(each.tree for each in trees)), trees


def _replace_trees(trees: Sequence[_Bound], left: Sequence[Tree]) -> list[_Bound]:
    """Returns bound trees with the trees `left` of a plan that has lost some queries.

    Both are in the same order; a tree that has lost all its queries is missing in `left`.
    """
    names = {name for tree in left for name in tree.queries}
    bound = [each for each in trees if not names.isdisjoint(each.tree.queries)]
    return [replace(each, tree=tree) for each, tree in zip(bound, left, strict=True)]


def _types_of_families(
    trees: Iterable[PeriodicTree], relations: Relations
) -> dict[Family, AnswerTypes]:
    """Returns the types of families with several trees, each found in one analysis.

    Families whose keys are expressions, or that Spark refuses, are left out: their trees are
    analysed one by one.
    """
    known = {}
    for family, members in trees_by_family(trees).items():
        groupings = [tree.grouping for tree in members]
        if len(members) == 1 or not all(
            is_reference(key) for each in groupings for key in each.keys
        ):
            continue
        aggregates = tuple(dict.fromkeys(a for tree in members for a in tree.aggregates))
        try:
            types = answer_types(groupings, aggregates, relations)
        except (AnalysisException, ParseException):
            continue
        if all(isinstance(kind, BooleanType) for kind in types.filters):
            known[family] = types
    return known


def _types_of(
    tree: Tree, queries: Iterable[Query], relations: Relations, known: AnswerTypes | None
) -> AnswerTypes:
    """Returns the types of a tree's keys, time and aggregates, which may be known already."""
    try:
        return known or answer_types([tree.grouping], tree.aggregates, relations)
    except (AnalysisException, ParseException) as error:
        # Some query is wrong: find out which, so that the error can name it.
        for query in queries:
            if query.is_periodic:
                relations.check(query.whole_query)
            with name_query_in_errors(query):
                answer_types([tree.grouping], tuple(query.aggregates.values()), relations)
        raise RunError(f"the queries of {tree.grouping}: {first_line(error)}") from None


def _bind_periodic_tree(
    tree: PeriodicTree, types: AnswerTypes, relations: Relations
) -> BoundPeriodicTree:
    keys, time_type, known = types.of(tree.grouping, tree.aggregates)
    is_taken = all(can_be_key(field.dataType) for field in keys)
    engines = {
        each: Engine.COMPILED
        if is_taken
        and is_compiled(each, known)
        and is_order_known(each, tree.grouping.relation, relations)
        else Engine.SPARK
        for each in tree.aggregates
    }
    return BoundPeriodicTree(
        tree=tree, time_type=time_type, keys=keys, types=known, engines=engines
    )


def _with_techniques(
    bound: BoundPeriodicTree, plan: Plan, relations: Relations, *, is_stream: bool
) -> BoundPeriodicTree:
    """Returns the tree with techniques for its types, which the planner did not know."""
    ansi = is_ansi(relations.session)

    def monoids(aggregate: Aggregate, component: Component) -> tuple[Monoid]:
        value_type = value_type_of(component, aggregate, bound.types)
        return (component.part.representation(value_type, ansi=ansi).monoid,)

    if is_stream:
        (part,) = plan.workload_of(plan.queries_of(bound.tree).values()).split_by_grouping
        return replace(bound, tree=with_stream_techniques(bound.tree, part, monoids))
    return replace(bound, tree=with_techniques(bound.tree, plan.workload.options, monoids))


def _check_window(query: Query, relations: Relations) -> None:
    """Refuse conditions that are not boolean, measures that are no numbers, and unknown columns."""
    window = query.window
    if not isinstance(window, DataWindow):
        return
    conditions = {f"b{index}": sql for index, sql in enumerate(window.conditions)}
    measures = {f"m{index}": sql for index, sql in enumerate(window.measures)}
    others = dict(window.columns) if isinstance(window, Custom) else {}
    columns = {**conditions, **measures, **others}
    if not columns:
        return
    with name_query_in_errors(query):
        schema = relations.sql(
            select_events(query.grouping, {name: f"({sql})" for name, sql in columns.items()})
        ).schema
    for asked, allowed, what in (
        (conditions, BooleanType, "a condition"),
        (measures, NumericType, "a number"),
    ):
        for name, sql in asked.items():
            kind: DataType = schema[name].dataType
            if not isinstance(kind, allowed):
                raise RunError(
                    f"query {query.name!r}: {sql} must be {what}, and it is {kind.simpleString()}"
                )
