"""A plan as Spark SQL: a statement for each query, with slices and windows as table expressions.

The first expressions group the events into slices by `window(time, width)`. Each window then groups
the rows that it reads by `window(w.start, size, slide)`.
"""

from collections.abc import Mapping

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.errors import ModelError
from muntin.explain.slice_tables import NAMES, SLICES, join_columns, slice_tables, window_call
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.trees import Node
from muntin.model.windows.cumulate import GROWN, CumulateWindow
from muntin.sql_text import quoted, squeeze

# Spark's types of aggregates, as far as they are known.
Types = Mapping[Aggregate, str]


def sql(plan: Plan, types: Types | None = None) -> str:
    """Returns a statement for each query, with its name in a comment."""
    texts = []
    for query in plan.queries:
        try:
            texts.append(f"-- name: {query.name}\n{statement(plan, query.name, types)};")
        except ModelError as error:
            # SQL has no form for some windows.
            texts.append(f"-- {error}")
    return "\n\n".join(texts) + "\n"


def statement(plan: Plan, name: str, types: Types | None = None) -> str:
    """Returns the statement of one query. A query that does not share is returned as it is.

    Grouping sets become a UNION ALL.
    """
    query = plan.query(name)
    if isinstance(query, PlainQuery):
        return query.statement.fill(NAMES).strip().rstrip(";")
    if not query.is_periodic or not query.is_native or (query.sets and query.ending):
        # SQL has no form for what the runtime does with data windows and sets of values. An order
        # applies to all grouping sets together.
        return query.to_sql().fill(NAMES)
    texts = [_Statement(plan, part, types or {}).text() for part in query.parts]
    if query.sets is None:
        return texts[0]
    return "\nUNION ALL\n".join(f"(\n{indent(text)}\n)" for text in texts)


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
        with_ = ",\n".join(f"{name} AS (\n{indent(body)}\n)" for name, body in tables)
        return f"WITH {with_}\n{self._answer()}"

    def _node(self, node: Node) -> str:
        """Returns the SELECT of a node's window from the rows that it reads."""
        parts = dict.fromkeys(part for one in node.aggregates for part in one.components)
        parent = node.parent
        source = SLICES if parent is None else self._tables[parent]
        where = ""
        if isinstance(node.window, CumulateWindow):
            views, inside = node.window.views("w.start")
            source += views
            where = f"\nWHERE {inside}" + ("" if parent is None else f" AND w.end <= {GROWN}.end")
            name = window = GROWN
        elif parent is None or parent.is_tumbling:
            name, window = "window", window_call(node.window, "w.start")
        else:
            # Overlapping intervals may start inside a window and end outside of it.
            name = window = "around"
            inner = f"SELECT *, {window_call(node.window, 'w.start')} AS around"
            source = f"(\n  {inner}\n  FROM {source}\n)"
            where = "\nWHERE w.end <= around.end"
        columns = [*self._keys, f"{name} AS w"]
        columns += [
            f"{part.combine_sql(self._names[part])} AS {self._names[part]}" for part in parts
        ]
        groups = ", ".join([*self._keys, window])
        return f"SELECT {join_columns(columns)}\nFROM {source}{where}\nGROUP BY {groups}"

    def _answer(self) -> str:
        """Returns the SELECT of the query's columns from the rows of its window."""
        query = self._query
        position = {
            key: name for key, name in zip(self._tree.grouping.keys, self._keys, strict=True)
        }
        known = {
            **{name: position[squeeze(key)] for name, key in query.key_expressions.items()},
            **{name: query.null_of(key).fill(NAMES) for name, key in query.left_out.items()},
            "window": "w",
            **{
                name: lower_sql(aggregate, self._names, self._types)
                for name, aggregate in query.aggregates.items()
            },
            **query.mark_values,
        }
        names = {name: known[name] for name in query.names}
        source = self._tables[self._tree.nodes[-1].window]
        alone = [query.named_alone(column.expression) for column in query.columns]
        if query.having is None and query.ending is None and None not in alone:
            columns = [
                _alias(names[name], column.name)
                for name, column in zip(alone, query.columns, strict=True)
                if name is not None
            ]
        else:
            # The user's expressions need columns with the names that they use.
            inner = join_columns([_alias(text, name) for name, text in names.items()])
            rows = f"SELECT {inner}\nFROM {source}"
            source = f"(\n{indent(rows)}\n)"
            columns = [_alias(column.expression, column.name) for column in query.columns]
        having = f"\nWHERE {query.having}" if query.having else ""
        if query.ending is not None:
            rows = f"SELECT *\nFROM {source}{having}\n{query.ending}"
            source, having = f"(\n{indent(rows)}\n)", ""
        answer = f"SELECT {join_columns(columns)}\nFROM {source}{having}"
        if all(column.name for column in query.columns):
            return answer
        # Columns without a name get the name that Spark gives them in the plain query.
        plain = query.asked.to_sql().fill(NAMES).strip().rstrip(";")
        return f"SELECT * FROM (\n{indent(plain)}\n) WHERE false\nUNION ALL\n{answer}"


def lower_sql(aggregate: Aggregate, names: Mapping[Component, str], types: Types) -> str:
    """Returns the SQL of an aggregate over the columns of its components."""
    scalars: list[str] = []
    for part in aggregate.components:
        name, fields = names[part], list(part.part.scalars)
        scalars += [f"{name}.{field}" for field in fields] if len(fields) > 1 else [name]
    text = aggregate.answer_sql(scalars)
    match aggregate.definition.result:
        case "count":
            return f"coalesce({text}, 0L)"
        case "double":
            return f"({text})"
        case _:
            kind = types.get(aggregate)
            return text if kind is None else f"CAST({text} AS {kind})"


def _alias(expression: str, name: str | None) -> str:
    return expression if name is None or name == expression else f"{expression} AS {quoted(name)}"


def indent(text: str) -> str:
    """Returns a text indented by two spaces."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
