"""Which Spark types the state of a stream depends on, and what has changed with them.

If an expression that a query reads has another type at the next start, its values do not fit the
state. The query then starts anew, as if it had been edited.
"""

from collections.abc import Collection, Mapping

from muntin.aggregates.aggregate import Component
from muntin.model.data_windows import Absent, Custom, DataWindow
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query, parts_of
from muntin.model.trees import Tree

# Spark's types of expressions over the events, by the expression.
ValueTypes = Mapping[str, str]


def read_by(query: Query) -> set[str]:
    """Returns the Spark SQL whose values are in the state of a query, or are its keys or time."""
    found = {query.grouping.time}
    for part in parts_of([query]):
        found.update(part.grouping.keys)
    for aggregate in query.aggregates.values():
        for component in aggregate.components:
            found.update(arguments_of(component))
    window = query.window
    if isinstance(window, DataWindow):
        found.update(window.measures)
    if isinstance(window, Custom | Absent):
        found.update(sql for _, sql in window.columns)
    return found


def arguments_of(component: Component) -> tuple[str, ...]:
    """Returns the Spark SQL that a component is made of; nothing if the type is always the same."""
    if component.argument is None or component.kind == "user":
        return ()
    return component.arguments


def retyped(before: ValueTypes, now: ValueTypes) -> set[str]:
    """Returns the Spark SQL that has another type now; an earlier muntin stored no types."""
    return {sql for sql, kind in before.items() if now.get(sql, kind) != kind}


def is_retyped(tree: Tree, others: Collection[str]) -> bool:
    """Whether the keys or the time of a tree are among expressions of other types."""
    return any(sql in others for sql in (tree.grouping.time, *tree.grouping.keys))


def unchanged_queries(plan: Plan, others: Collection[str]) -> list[Query | PlainQuery]:
    """Returns the queries of a plan that read none of the expressions of other types."""
    return [
        query
        for query in plan.queries
        if not (isinstance(query, Query) and not read_by(query).isdisjoint(others))
    ]
