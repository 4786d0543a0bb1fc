"""Binds a plan to its data: finds types, and with them who computes what."""

from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from muntin.errors import RunError
from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.aggregates.monoids import Monoid
from muntin.model.aggregates.table import DOUBLE
from muntin.model.plan import Plan, Tree
from muntin.model.query import PlainQuery, Query
from muntin.runtime.columns.layout import kept
from muntin.share.name_techniques import with_techniques
from muntin.spark.batch.slices import number_of
from muntin.spark.binding.bound_tree import AnyBoundTree
from muntin.spark.binding.grouping_sql import answer_types
from muntin.spark.binding.relations import Relations, first_line, is_ansi, is_case_sensitive

# Types of answers that the compiled runtime takes.
NUMERIC = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, BooleanType)
# Key types that go to Python and back unchanged, and can be sorted.
_CARRIED = (
    *NUMERIC,
    BinaryType,
    DateType,
    DecimalType,
    TimestampType,
    TimestampNTZType,
)


@dataclass(frozen=True, kw_only=True)
class BoundTree(AnyBoundTree):
    """A tree of periodic windows and its types."""

    tree: Tree
    # Aggregates that the compiled runtime takes; the others are combined by Spark.
    numeric: set[Aggregate]


@dataclass(frozen=True, kw_only=True)
class BoundPlan:
    """A plan that can run on its data, with a bound tree for each of its trees."""

    plan: Plan
    trees: tuple[BoundTree, ...]


def bind(plan: Plan, relations: Relations) -> BoundPlan:
    """Find the types; queries that only Spark can answer leave their tree, with a reason."""
    bound = [_bind_tree(tree, plan, relations) for tree in plan.trees]
    alone: dict[str, PlainQuery] = {}
    for bound_tree in bound:
        for name, query in plan.queries_of(bound_tree.tree).items():
            reason = reason_alone(query, bound_tree.types, relations)
            if reason is not None:
                alone[name] = PlainQuery(name=name, statement=query.to_sql(), reason=reason)
    left = [q for q in plan.queries if isinstance(q, Query) and q.name not in alone]
    trees = (
        [replace(bound_tree, tree=bound_tree.tree.answering(left)) for bound_tree in bound]
        if alone
        else bound
    )
    trees = [
        _with_techniques(bound_tree, plan, relations)
        for bound_tree in trees
        if bound_tree.tree.nodes
    ]
    return BoundPlan(
        plan=replace(
            plan,
            trees=tuple(bound_tree.tree for bound_tree in trees),
            queries=tuple(alone.get(query.name, query) for query in plan.queries),
        ),
        trees=tuple(trees),
    )


def _bind_tree(tree: Tree, plan: Plan, relations: Relations) -> BoundTree:
    """Ask Spark for the types of a grouping's keys, time and aggregates, in one analysis."""
    try:
        keys, time_type, types = answer_types(tree.grouping, tree.aggregates, relations)
    except (AnalysisException, ParseException) as error:
        # Some query is wrong: find out which, so that the error can name it.
        for query in plan.queries_of(tree).values():
            relations.check(query)
        raise RunError(f"the queries of {tree.grouping}: {first_line(error)}") from None
    carried = all(is_carried(field.dataType) for field in keys)
    return BoundTree(
        tree=tree,
        time_type=time_type,
        keys=keys,
        types=types,
        numeric={a for a in tree.aggregates if carried and isinstance(types[a], NUMERIC)},
    )


def _with_techniques(bound: BoundTree, plan: Plan, relations: Relations) -> BoundTree:
    """Returns the tree with the techniques for its types: a plan knows only the functions."""
    ansi = is_ansi(relations.session)

    def monoids(aggregate: Aggregate, component: Component) -> tuple[Monoid]:
        number = number_of(component, bound.types[aggregate])
        return (kept(component, number=number, name="", ansi=ansi).monoid,)

    tree = bound.tree
    nodes = with_techniques(
        tree.nodes,
        tree.slicing,
        monoids=monoids,
        technique=plan.technique,
        latency=plan.latency,
    )
    return replace(bound, tree=replace(tree, nodes=nodes))


def is_carried(kind: DataType) -> bool:
    """Whether keys of this type can be sorted, sent to Python and compared there by value."""
    if isinstance(kind, ArrayType):
        return is_carried(kind.elementType)
    if isinstance(kind, StructType):
        return all(is_carried(field.dataType) for field in kind.fields)
    if isinstance(kind, StringType):
        # Under other collations different bytes may be equal, and only Spark knows which.
        return kind == StringType()
    return isinstance(kind, _CARRIED)


def reason_alone(
    query: Query, types: dict[Aggregate, DataType], relations: Relations
) -> str | None:
    """Returns why a query cannot be built from slices of this data; None if it can."""
    tells_cases_apart = is_case_sensitive(relations.session)
    if query.mixes_case and tells_cases_apart:
        return "spark.sql.caseSensitive is on, and it spells a column in two cases"
    if query.names_window:
        columns = relations.columns(query.source)
        if "window" in (columns if tells_cases_apart else map(str.lower, columns)):
            return "its source has a column that is called window, too"
    legacy = relations.session.conf.get("spark.sql.legacy.statisticalAggregate", "false")
    for aggregate in query.aggregates.values():
        kind = types[aggregate]
        row = aggregate.definition
        if row.result == DOUBLE and not isinstance(kind, DoubleType):
            return f"{aggregate} is {kind.simpleString()}, which Spark rounds once, at the end"
        if row.has_legacy and legacy == "true":
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
