"""A plan as Spark SQL: a statement for each query, slices and windows its table expressions.

The first expression groups the events by `window(time, width)`: the slices. Each window after it
groups the rows of what it reads by `window(w.start, size, slide)`.
"""

from collections.abc import Mapping

from muntin.errors import ModelError
from muntin.model.aggregates.aggregate import Aggregate, Component
from muntin.model.plan import Node, Plan, Tree
from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import quoted, squeeze
from muntin.model.time import format_duration
from muntin.model.windows.window import Window
from muntin.share.slicing.edges import grid

# Spark's types of aggregates, where they are known.
Types = Mapping[Aggregate, str]

SLICES = "slices"
# The name of the relation where a query has none.
_NAMES = {"": "data"}


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
    """Writes one query of a plan as a statement; a query that does not share as it is."""
    query = plan.query(name)
    if isinstance(query, PlainQuery):
        return query.statement.fill(_NAMES).strip().rstrip(";")
    if not query.is_periodic:
        return query.to_sql().fill(_NAMES)
    tree = plan.place(name)[0].answering([query])
    return _Statement(tree, query, types or {}).text()


class _Statement:
    def __init__(self, tree: Tree, query: Query, types: Types) -> None:
        self._tree, self._query, self._types = tree, query, types
        parts = (part for aggregate in tree.aggregates for part in aggregate.components)
        self._names = {part: f"c{index}" for index, part in enumerate(dict.fromkeys(parts))}
        self._keys = [f"k{index}" for index in range(len(tree.grouping.keys))]
        # Edges that fill no grid are cut on the grid that holds them: Spark's window has no other.
        cell = grid(tree.slicing.edges)
        self._cut = Window(size=cell.period, slide=cell.period, offset=cell.phase)
        self._tables = {self._cut: SLICES}
        for index, node in enumerate(tree.nodes, start=1):
            self._tables.setdefault(node.window, f"w{index}")

    def text(self) -> str:
        tables = [(SLICES, self._slices())]
        tables += [
            (self._tables[node.window], self._node(node))
            for node in self._tree.nodes
            if node.window != self._cut
        ]
        with_ = ",\n".join(f"{name} AS (\n{_indented(body)}\n)" for name, body in tables)
        return f"WITH {with_}\n{self._answer()}"

    def _slices(self) -> str:
        """The events of the grouping, grouped by its keys and slices of one width."""
        grouping = self._tree.grouping
        keys = zip(grouping.keys, self._keys, strict=True)
        columns = [f"{key} AS {name}" for key, name in keys] + [
            f"{_call(self._cut, grouping.time)} AS w"
        ]
        columns += [f"{lifted(part)} AS {name}" for part, name in self._names.items()]
        relation = grouping.relation.fill(_NAMES).strip()
        where = f"\nWHERE {grouping.where}" if grouping.where else ""
        groups = ", ".join([*grouping.keys, _call(self._cut, grouping.time)])
        return f"SELECT {_listed(columns)}\nFROM {relation}{where}\nGROUP BY {groups}"

    def _node(self, node: Node) -> str:
        """The window of a node from the rows of what it reads."""
        parts = dict.fromkeys(part for one in node.aggregates for part in one.components)
        columns = [f"{part.combined(self._names[part])} AS {self._names[part]}" for part in parts]
        parent = node.parent
        if parent is None or parent.is_tumbling:
            source = SLICES if parent is None else self._tables[parent]
            columns = [*self._keys, "window AS w", *columns]
            window = _call(node.window, "w.start")
            groups = ", ".join([*self._keys, window])
            return f"SELECT {_listed(columns)}\nFROM {source}\nGROUP BY {groups}"
        # Intervals that overlap begin inside windows in which they do not end.
        columns = [*self._keys, "around AS w", *columns]
        inner = f"SELECT *, {_call(node.window, 'w.start')} AS around"
        groups = ", ".join([*self._keys, "around"])
        return (
            f"SELECT {_listed(columns)}\nFROM (\n  {inner}\n  FROM {self._tables[parent]}\n)\n"
            f"WHERE w.end <= around.end\nGROUP BY {groups}"
        )

    def _answer(self) -> str:
        """The query's columns from its window's rows."""
        query = self._query
        position = {
            key: name for key, name in zip(self._tree.grouping.keys, self._keys, strict=True)
        }
        names = {name: position[squeeze(key)] for name, key in query.key_expressions.items()}
        names["window"] = "w"
        names.update(
            {name: self._lowered(aggregate) for name, aggregate in query.aggregates.items()}
        )
        source = self._tables[self._tree.nodes[-1].window]
        alone = [query.named_alone(column.expression) for column in query.columns]
        if query.having is None and None not in alone:
            columns = [
                _named(names[name], column.name)
                for name, column in zip(alone, query.columns, strict=True)
                if name is not None
            ]
        else:
            # The user's expressions are resolved among columns that have the names they use.
            inner = _listed([_named(text, name) for name, text in names.items()])
            rows = f"SELECT {inner}\nFROM {source}"
            source = f"(\n{_indented(rows)}\n)"
            columns = [_named(column.expression, column.name) for column in query.columns]
        having = f"\nWHERE {query.having}" if query.having else ""
        answer = f"SELECT {_listed(columns)}\nFROM {source}{having}"
        if all(column.name for column in query.columns):
            return answer
        # Columns without a name get the one that Spark gives them in the plain query.
        plain = query.to_sql().fill(_NAMES).strip().rstrip(";")
        return f"SELECT * FROM (\n{_indented(plain)}\n) WHERE false\nUNION ALL\n{answer}"

    def _lowered(self, aggregate: Aggregate) -> str:
        scalars: list[str] = []
        for part in aggregate.components:
            name, fields = self._names[part], list(part.part.scalars)
            scalars += [f"{name}.{field}" for field in fields] if len(fields) > 1 else [name]
        text = aggregate.lowered(scalars)
        match aggregate.definition.result:
            case "count":
                return f"coalesce({text}, 0L)"
            case "double":
                return f"({text})"
            case _:
                kind = self._types.get(aggregate)
                return text if kind is None else f"CAST({text} AS {kind})"


def lifted(part: Component) -> str:
    """What a slice keeps of a component."""
    scalars = part.lifted()
    if len(scalars) == 1:
        return next(iter(scalars.values()))
    fields = ",\n".join(f"    '{name}', {sql}" for name, sql in scalars.items())
    return f"named_struct(\n{fields})"


def _call(window: Window, time: str) -> str:
    lengths = [window.size]
    if not window.is_tumbling or window.offset:
        lengths.append(window.slide)
    if window.offset:
        lengths.append(window.offset)
    texts = ", ".join(f"'{format_duration(length)}'" for length in lengths)
    return f"window({time}, {texts})"


def _named(expression: str, name: str | None) -> str:
    return expression if name is None or name == expression else f"{expression} AS {quoted(name)}"


def _listed(columns: list[str]) -> str:
    line = ", ".join(columns)
    return line if len(line) <= 80 else ",\n  ".join(columns)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
