"""A plan as Spark SQL: a statement for each query, slices and windows its table expressions.

The first expressions group the events by `window(time, width)`: the slices, by way of those of a
pass where several trees share one. Each window after them groups the rows of what it reads by
`window(w.start, size, slide)`.
"""

from collections.abc import Mapping

from muntin.errors import ModelError
from muntin.explain.slice_tables import NAMES, SLICES, listed, slice_tables, window_call
from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import quoted, squeeze
from muntin.model.trees import Node
from muntin.model.windows.cumulate import GROWN, CumulateWindow

# Spark's types of aggregates, where they are known.
Types = Mapping[Aggregate, str]


def sql(plan: Plan, types: Types | None = None) -> str:
    """All queries of a plan as statements, each under its name and ended by a semicolon."""
    texts = []
    for query in plan.queries:
        try:
            texts.append(f"-- name: {query.name}\n{statement(plan, query.name, types)};")
        except ModelError as error:
            # Some windows can be written in no SQL.
            texts.append(f"-- {error}")
    return "\n\n".join(texts) + "\n"


def statement(plan: Plan, name: str, types: Types | None = None) -> str:
    """Writes one query of a plan as a statement; a query that does not share as it is.

    The statements of grouping sets are united.
    """
    query = plan.query(name)
    if isinstance(query, PlainQuery):
        return query.statement.fill(NAMES).strip().rstrip(";")
    if not query.is_periodic or not query.is_native or (query.sets and query.ending):
        # What the runtime finds of data windows and of sets of values is not said in SQL. An order
        # is that of all grouping sets.
        return query.to_sql().fill(NAMES)
    texts = [_Statement(plan, part, types or {}).text() for part in query.parts]
    if query.sets is None:
        return texts[0]
    return "\nUNION ALL\n".join(f"(\n{indented(text)}\n)" for text in texts)


class _Statement:
    def __init__(self, plan: Plan, query: Query, types: Types) -> None:
        self._query, self._types = query, types
        self._tree = plan.place(query.name)[0].answering([query])
        self._slices = slice_tables(self._tree, plan)
        self._keys, self._names = self._slices.keys, self._slices.names
        self._tables = {self._slices.cut: SLICES}
        for index, node in enumerate(self._tree.nodes, start=1):
            self._tables.setdefault(node.window, f"w{index}")

    def text(self) -> str:
        tables = list(self._slices.tables)
        tables += [
            (self._tables[node.window], self._node(node))
            for node in self._tree.nodes
            if node.window != self._slices.cut
        ]
        with_ = ",\n".join(f"{name} AS (\n{indented(body)}\n)" for name, body in tables)
        return f"WITH {with_}\n{self._answer()}"

    def _node(self, node: Node) -> str:
        """The window of a node from the rows of what it reads."""
        parts = dict.fromkeys(part for one in node.aggregates for part in one.components)
        columns = [f"{part.combined(self._names[part])} AS {self._names[part]}" for part in parts]
        parent = node.parent
        source = SLICES if parent is None else self._tables[parent]
        if isinstance(node.window, CumulateWindow):
            views, inside = node.window.views("w.start")
            columns = [*self._keys, f"{GROWN} AS w", *columns]
            inside += "" if parent is None else f" AND w.end <= {GROWN}.end"
            groups = ", ".join([*self._keys, GROWN])
            return (
                f"SELECT {listed(columns)}\nFROM {source}{views}\nWHERE {inside}\nGROUP BY {groups}"
            )
        if parent is None or parent.is_tumbling:
            columns = [*self._keys, "window AS w", *columns]
            window = window_call(node.window, "w.start")
            groups = ", ".join([*self._keys, window])
            return f"SELECT {listed(columns)}\nFROM {source}\nGROUP BY {groups}"
        # Intervals that overlap begin inside windows in which they do not end.
        columns = [*self._keys, "around AS w", *columns]
        inner = f"SELECT *, {window_call(node.window, 'w.start')} AS around"
        groups = ", ".join([*self._keys, "around"])
        return (
            f"SELECT {listed(columns)}\nFROM (\n  {inner}\n  FROM {self._tables[parent]}\n)\n"
            f"WHERE w.end <= around.end\nGROUP BY {groups}"
        )

    def _answer(self) -> str:
        """The query's columns from its window's rows."""
        query = self._query
        position = {
            key: name for key, name in zip(self._tree.grouping.keys, self._keys, strict=True)
        }
        known = {
            **{name: position[squeeze(key)] for name, key in query.key_expressions.items()},
            **{name: query.null_of(key).fill(NAMES) for name, key in query.left_out.items()},
            "window": "w",
            **{
                name: lowered(aggregate, self._names, self._types)
                for name, aggregate in query.aggregates.items()
            },
            **query.mark_values,
        }
        names = {name: known[name] for name in query.names}
        source = self._tables[self._tree.nodes[-1].window]
        alone = [query.named_alone(column.expression) for column in query.columns]
        if query.having is None and query.ending is None and None not in alone:
            columns = [
                _named(names[name], column.name)
                for name, column in zip(alone, query.columns, strict=True)
                if name is not None
            ]
        else:
            # The user's expressions are resolved among columns that have the names they use.
            inner = listed([_named(text, name) for name, text in names.items()])
            rows = f"SELECT {inner}\nFROM {source}"
            source = f"(\n{indented(rows)}\n)"
            columns = [_named(column.expression, column.name) for column in query.columns]
        having = f"\nWHERE {query.having}" if query.having else ""
        if query.ending is not None:
            rows = f"SELECT *\nFROM {source}{having}\n{query.ending}"
            source, having = f"(\n{indented(rows)}\n)", ""
        answer = f"SELECT {listed(columns)}\nFROM {source}{having}"
        if all(column.name for column in query.columns):
            return answer
        # Columns without a name get the one that Spark gives them in the plain query.
        plain = query.asked.to_sql().fill(NAMES).strip().rstrip(";")
        return f"SELECT * FROM (\n{indented(plain)}\n) WHERE false\nUNION ALL\n{answer}"


def lowered(aggregate: Aggregate, names: Mapping[Component, str], types: Types) -> str:
    """Returns an aggregate from the columns of its components."""
    scalars: list[str] = []
    for part in aggregate.components:
        name, fields = names[part], list(part.part.scalars)
        scalars += [f"{name}.{field}" for field in fields] if len(fields) > 1 else [name]
    text = aggregate.lowered(scalars)
    match aggregate.definition.result:
        case "count":
            return f"coalesce({text}, 0L)"
        case "double":
            return f"({text})"
        case _:
            kind = types.get(aggregate)
            return text if kind is None else f"CAST({text} AS {kind})"


def _named(expression: str, name: str | None) -> str:
    return expression if name is None or name == expression else f"{expression} AS {quoted(name)}"


def indented(text: str) -> str:
    """Returns a text with each line two blanks further in."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
