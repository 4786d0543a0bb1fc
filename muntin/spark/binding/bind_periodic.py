"""Binds trees of periodic windows to their data: finds types, and leaves queries to Spark."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    NumericType,
)

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.parts import PARTS, TYPED
from muntin.aggregates.table import DOUBLE
from muntin.errors import MuntinError, RefusedError, RunError
from muntin.model.engine import Engine
from muntin.model.plan import Plan
from muntin.model.query import Family, PlainQuery, Query, parts_of
from muntin.model.trees import PeriodicTree, by_family, with_own_passes
from muntin.optimizer.name_techniques import with_techniques
from muntin.spark.binding.bound_tree import BoundPeriodicTree
from muntin.spark.binding.grouping_sql import (
    AnswerTypes,
    Types,
    answer_types,
    types_of_alone,
    value_type_of,
)
from muntin.spark.binding.relations import (
    Relations,
    has_legacy_statistics,
    is_ansi,
    is_case_sensitive,
)
from muntin.spark.binding.runtime_types import (
    NUMERIC,
    is_carried,
    is_ordered,
    is_represented,
    reason_of_arguments,
    sums_up,
)
from muntin.spark.error_text import first_line
from muntin.sql.filters import is_reference
from muntin.sql_text import SqlText, quoted

# Settings by which `grouping_id` has another type, or its bits another order.
_OTHER_MARKS = (
    "spark.sql.legacy.integerGroupingId",
    "spark.sql.legacy.groupingIdWithAppendedUserGroupBy",
)


# What may go wrong when a plan is bound.
_FAILURES = (MuntinError, PySparkException)


_Bound = tuple[Plan, tuple[BoundPeriodicTree, ...]]


def bind_periodic_trees(plan: Plan, relations: Relations) -> _Bound:
    """Find the types; queries that only Spark can answer leave their tree, with a reason.

    So does a query that fails to be bound for any other reason, if Spark takes it.
    """
    try:
        return _bind(plan, relations)
    except _FAILURES as error:
        if isinstance(error, RefusedError) or plan.workload.options.technique is not None:
            raise
        alone: dict[str, str] = {}
        for name in dict.fromkeys(part.asked.name for part in _periodic(plan)):
            reason = _why_unbound(name, plan, relations)
            if reason is not None:
                relations.check(plan.query(name))
                alone[name] = reason
        if not alone:
            raise
        return _bind(leave_to_spark(plan, alone), relations)


def _why_unbound(name: str, plan: Plan, relations: Relations) -> str | None:
    """Returns why a query cannot be bound, even without the others; None if it can."""
    others = {part.asked.name: "" for part in _periodic(plan) if part.asked.name != name}
    try:
        _bind(leave_to_spark(plan, others), relations)
    except RefusedError:
        raise
    except MuntinError as error:
        return str(error)
    except PySparkException as error:
        return first_line(error)
    return None


def _periodic(plan: Plan) -> list[Query]:
    """Returns what the trees of periodic windows answer."""
    return [part for tree in plan.periodic_trees for part in plan.queries_of(tree).values()]


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
    left = [part for part in parts_of(plan.queries) if part.asked.name not in plain]
    periodic = [tree.answering(left) for tree in plan.periodic_trees]
    data = [tree.answering(left) for tree in plan.data_trees]
    return plan.with_trees(
        periodic=with_own_passes([tree for tree in periodic if tree.nodes]),
        data=[tree for tree in data if tree.nodes],
        queries=tuple(plain.get(query.name, query) for query in plan.queries),
    )


def _bind(plan: Plan, relations: Relations) -> _Bound:
    for query in plan.queries:
        if isinstance(query, Query) and (query.sets is not None or (query.having and query.ending)):
            # Spark resolves less in the HAVING of grouping sets than in that of each set, and less
            # in ORDER BY above HAVING.
            relations.check(query)
    pairs = [
        (tree, types_of_alone(tree, plan.queries_of(tree), relations))
        for tree in plan.periodic_trees
    ]
    known = _types_of_families([tree for tree, types in pairs if types is None], relations)
    bound = [
        _bind_tree(tree, plan, relations, types or known.get(tree.grouping.family))
        for tree, types in pairs
    ]
    reasons: dict[str, str] = {}
    for bound_tree in bound:
        for part in plan.queries_of(bound_tree.tree).values():
            reason = reason_alone(part, bound_tree.types, relations) or _reason_apart(
                part, bound_tree
            )
            if reason is not None:
                # What holds for one grouping set holds for all, and Spark answers them at once.
                reasons[part.asked.name] = reason
    if reasons:
        plan = leave_to_spark(plan, reasons)
        names = {part.name for part in _periodic(plan)}
        stays = [each for each in bound if not names.isdisjoint(each.tree.queries)]
        bound = [
            replace(each, tree=tree) for each, tree in zip(stays, plan.periodic_trees, strict=True)
        ]
    trees = [_with_techniques(bound_tree, plan, relations) for bound_tree in bound]
    return plan.with_trees(periodic=(each.tree for each in trees)), tuple(trees)


def _reason_apart(query: Query, bound: BoundPeriodicTree) -> str | None:
    """Returns why Spark must answer a query that it would have to combine some partials of, while
    only compiled code combines others; None if that is not so."""
    by_spark = [each for each in query.aggregates.values() if bound.engines[each] is Engine.SPARK]
    compiled = [each for each in query.aggregates.values() if not each.definition.is_native]
    if bound.tree.engine is Engine.SPARK or not by_spark or not compiled:
        return None
    for field in bound.keys:
        if not is_carried(field.dataType):
            kind = field.dataType.simpleString()
            return f"only compiled code combines {compiled[0]}, and it takes no keys of {kind}"
    if by_spark[0] == compiled[0]:
        return f"compiled code does not take {compiled[0]} of such values"
    return f"only compiled code combines {compiled[0]}, and it does not take {by_spark[0]}"


def _types_of_families(
    trees: Iterable[PeriodicTree], relations: Relations
) -> dict[Family, AnswerTypes]:
    """Asks Spark for the types of all trees of a family at once.

    Families are left out whose keys are more than columns, and those of which Spark refuses
    something: their trees are asked for one by one.
    """
    known = {}
    for family, members in by_family(trees).items():
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


def _bind_tree(
    tree: PeriodicTree, plan: Plan, relations: Relations, known: AnswerTypes | None
) -> BoundPeriodicTree:
    """Returns a tree with the types of its keys, time and aggregates, which may be known."""
    try:
        known = known or answer_types([tree.grouping], tree.aggregates, relations)
    except (AnalysisException, ParseException) as error:
        # Some query is wrong: find out which, so that the error can name it.
        for query in plan.queries_of(tree).values():
            relations.check(query.asked)
        raise RunError(f"the queries of {tree.grouping}: {first_line(error)}") from None
    keys, time_type, types = known.of(tree.grouping, tree.aggregates)
    carried = all(is_carried(field.dataType) for field in keys)
    return BoundPeriodicTree(
        tree=tree,
        time_type=time_type,
        keys=keys,
        types=types,
        engines={
            each: Engine.COMPILED
            if carried
            and is_compiled(each, types)
            and is_order_known(each, tree.grouping.relation, relations)
            else Engine.SPARK
            for each in tree.aggregates
        },
    )


def _with_techniques(
    bound: BoundPeriodicTree, plan: Plan, relations: Relations
) -> BoundPeriodicTree:
    """Returns the tree with the techniques for its types: a plan knows only the functions."""
    ansi = is_ansi(relations.session)

    def monoids(aggregate: Aggregate, component: Component) -> tuple[Monoid]:
        value_type = value_type_of(component, aggregate, bound.types)
        return (component.representation(value_type, ansi=ansi).monoid,)

    tree = bound.tree
    nodes = with_techniques(
        tree.nodes,
        tree.slicing,
        monoids=monoids,
        options=plan.workload.options,
    )
    return replace(bound, tree=replace(tree, nodes=nodes))


def is_compiled(aggregate: Aggregate, types: Types) -> bool:
    """Whether the compiled runtime takes an aggregate of these types."""
    sets = aggregate.sets_of_values
    if sets:
        return all(sums_up(aggregate, types[component]) for component in sets)
    kind = types[aggregate]
    if isinstance(kind, NUMERIC):
        return True
    typed = [PARTS[part].representations.get(TYPED) for part in aggregate.definition.parts]
    return all(each is not None and is_represented(each, kind) for each in typed)


def is_order_known(aggregate: Aggregate, relation: SqlText, relations: Relations) -> bool:
    """Whether the runtime knows the order of what chooses an aggregate's answer, if something
    does."""
    if not aggregate.definition.is_chosen:
        return True
    kind = relations.type_of(relation, aggregate.others[0])
    return isinstance(kind, NUMERIC) or is_ordered(kind)


def reason_alone(query: Query, types: Types, relations: Relations) -> str | None:
    """Returns why a query cannot be built from slices of this data; None if it can."""
    # Each look at a setting is a call of the JVM, and there may be very many queries.
    if query.mixes_case and is_case_sensitive(relations.session):
        return "spark.sql.caseSensitive is on, and it spells a column in two cases"
    if query.names_window:
        columns = relations.columns(query.source)
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
    for aggregate in query.aggregates.values():
        kind = types[aggregate]
        row = aggregate.definition
        if row.result == DOUBLE and not isinstance(kind, DoubleType):
            return f"{aggregate} is {kind.simpleString()}, which Spark rounds once, at the end"
        reason = reason_of_arguments(aggregate, query.source, relations)
        if reason is not None:
            return reason
        if row.has_legacy and has_legacy_statistics(relations.session):
            return "spark.sql.legacy.statisticalAggregate is on"
        if row.casts and not is_ansi(relations.session):
            # A slice could not tell text that is no number from null.
            for argument in aggregate.components[0].arguments:
                argument_type = relations.type_of(query.source, argument)
                if not isinstance(argument_type, NumericType):
                    return (
                        f"{aggregate} is of {argument_type.simpleString()}, which Spark casts "
                        f"value by value; write CAST({argument} AS DOUBLE) in its place"
                    )
    return None


def _is_of_other_type(name: str, query: Query, relations: Relations) -> bool:
    """Whether an item of SELECT has the name of a column of the source, and another type.

    Spark resolves names in HAVING as columns of the source first, and casts what they are compared
    with. If the column is no key, it then takes the item in its place, and leaves the casts.
    """
    columns = [each for each in relations.columns(query.source) if each.lower() == name.lower()]
    if not columns:
        return False
    items = relations.check(query.asked).schema.fields
    types = [each.dataType for each in items if each.name.lower() == name.lower()]
    return len(columns) > 1 or types != [relations.type_of(query.source, quoted(columns[0]))]
