"""Trees that are bound to their data, the plan of them, and the types that Spark gives them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import DataType, StructField, StructType

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.model.passes import Engine
from muntin.model.plan import Plan
from muntin.model.query import Grouping, Query
from muntin.model.trees import DataTree, PeriodicTree, Tree
from muntin.spark.binding.relations import Relations
from muntin.sql_text import collapse_spaces

# Spark's types of aggregates, and of the values of components that are sets of values.
Types = Mapping[Aggregate | Component, DataType]


@dataclass(frozen=True, kw_only=True)
class BoundTree:
    """A tree and the Spark types of what it reads and answers."""

    tree: Tree
    time_type: DataType
    keys: tuple[StructField, ...]
    # The types of aggregates, and of the values of components that are sets of values.
    types: Types


@dataclass(frozen=True, kw_only=True)
class BoundPeriodicTree(BoundTree):
    """A tree of periodic windows and its types."""

    tree: PeriodicTree
    # Who combines each aggregate: compiled code, or Spark where that does not take its types.
    engines: Mapping[Aggregate, Engine]


@dataclass(frozen=True, kw_only=True)
class BoundDataTree(BoundTree):
    """A tree of data windows and its types."""

    tree: DataTree


@dataclass(frozen=True, kw_only=True)
class BoundPlan:
    """A plan that can run on its data, with a bound tree for each of its trees, in their order."""

    plan: Plan
    periodic_trees: tuple[BoundPeriodicTree, ...]
    data_trees: tuple[BoundDataTree, ...]


@dataclass(frozen=True, kw_only=True)
class AnswerTypes:
    """Spark's types of keys, time and aggregates, for one grouping or several of a family."""

    keys: Mapping[str, StructField]
    time: DataType
    aggregates: Types
    # The types of filters, if there are several groupings.
    filters: tuple[DataType, ...] = ()

    def of(
        self, grouping: Grouping, aggregates: Sequence[Aggregate]
    ) -> tuple[tuple[StructField, ...], DataType, Types]:
        """Returns the types of a grouping's keys, its time and some aggregates."""
        asked: tuple[Aggregate | Component, ...] = (*aggregates, *sets_of_values(aggregates))
        return (
            tuple(self.keys[key] for key in grouping.keys),
            self.time,
            {each: self.aggregates[each] for each in asked},
        )


def sets_of_values(aggregates: Iterable[Aggregate]) -> tuple[Component, ...]:
    """Returns the components that are sets of values, each once."""
    sets = (component for aggregate in aggregates for component in aggregate.sets_of_values)
    return tuple(dict.fromkeys(sets))


def answer_types(
    groupings: Sequence[Grouping], aggregates: Sequence[Aggregate], relations: Relations
) -> AnswerTypes:
    """Returns Spark's types for groupings of one family, in one analysis.

    No column gets a name here: the user's expressions must be resolved among the events' columns.
    """
    first = groupings[0]
    keys = list(dict.fromkeys(key for grouping in groupings for key in grouping.keys))
    filters = list(dict.fromkeys(each.where for each in groupings if each.where is not None))
    # Several filters are joined by AND below, so each has to be checked to be a boolean.
    asked = [f"first(({where}))" for where in filters] if len(groupings) > 1 else []
    window = f"window({first.time}, '1 second')"
    sets = sets_of_values(aggregates)
    calls = [aggregate.to_sql() for aggregate in aggregates]
    calls += (f"first(({component.value}))" for component in sets)
    columns = [*keys, window, *calls, *asked]
    conditions = filters if len(filters) == 1 else [f"({where})" for where in filters]
    where = f" WHERE {' AND '.join(conditions)}" if filters else ""
    text = first.relation.surround(
        f"SELECT {', '.join(columns)} FROM ", f"{where} GROUP BY {', '.join([*keys, window])}"
    )
    fields = relations.sql(text).schema.fields
    bounds = fields[len(keys)].dataType
    assert isinstance(bounds, StructType)
    types = [field.dataType for field in fields[len(keys) + 1 :]]
    return AnswerTypes(
        keys=dict(zip(keys, fields[: len(keys)], strict=True)),
        time=bounds["start"].dataType,
        aggregates=dict(zip((*aggregates, *sets), types[: len(calls)], strict=True)),
        filters=tuple(types[len(calls) :]),
    )


def types_of_plain_answer(
    tree: Tree, queries: Mapping[str, Query], relations: Relations
) -> AnswerTypes | None:
    """Returns the types of a tree with a single query that Spark answers, from the answer's schema.

    None if there are more queries, or if some key, aggregate or the window is no column of the
    answer. Then call `answer_types`.
    """
    (query, *others) = queries.values()
    if (
        tree.engine is not Engine.SPARK
        or others
        or query.part_of
        or sets_of_values(tree.aggregates)
    ):
        return None
    fields = relations.check(query).schema.fields
    by_name = {
        query.bare_name(column.expression): field
        for column, field in zip(query.columns, fields, strict=True)
    }
    if not by_name.keys() >= {*query.key_expressions, "window", *query.aggregates}:
        return None
    bounds = by_name["window"].dataType
    assert isinstance(bounds, StructType)
    return AnswerTypes(
        keys={collapse_spaces(key): by_name[name] for name, key in query.key_expressions.items()},
        time=bounds["start"].dataType,
        aggregates={each: by_name[name].dataType for name, each in query.aggregates.items()},
    )


def value_type_of(component: Component, aggregate: Aggregate, types: Types) -> str:
    """Returns the type of the values in a component's partials, given Spark's types."""
    if component.part.value_type is not None:
        return component.part.value_type
    kind = types[component] if component in types else types[aggregate]
    return component.part.all_representations[0].value_type(kind.simpleString())
