"""A plan as Spark SQL: a statement for each query, with slices and windows as table expressions.

The first expressions group the events into slices by `window(time, width)`. Each window then groups
the rows that it reads by `window(w.start, size, slide)`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.errors import ModelError
from muntin.model.passes import Engine, common_filter
from muntin.model.plan import Plan
from muntin.model.query import PlainQuery, Query
from muntin.model.time import format_duration
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import INTERVAL_COLUMN, CumulateWindow, Slicing, Window
from muntin.optimizer.edges import grid
from muntin.sql_text import collapse_spaces, quote_name

SLICES = "slices"
# A column or a field of a column. Reading it cannot fail, so it needs no filter.
_COLUMN = re.compile(r"(`[^`]+`|[^\W\d]\w*)(\.(`[^`]+`|[^\W\d]\w*))*")
# The name of a relation without a name.
NAMES = {"": "data"}
# Counts the events that pass a filter: a slice without such an event is not in the tree.
_COUNT = Component(kind="count")


@dataclass(frozen=True, kw_only=True)
class SliceTables:
    """Table expressions for the slices of a tree. The last one is called `slices`."""

    # Names and bodies; each comes after those that it reads.
    tables: tuple[tuple[str, str], ...]
    # The slices as a tumbling window.
    cut: Window
    # The columns of the tree's keys and components in `slices`.
    keys: tuple[str, ...]
    names: dict[Component, str]


def slice_tables(tree: PeriodicTree, plan: Plan) -> SliceTables:
    """Returns the expressions that make the slices of a tree.

    A pass of Spark's GROUP BY is an expression of its own, the same for all its trees.
    """
    shared = tree.slicing_pass
    tables: tuple[tuple[str, str], ...]
    if shared is None or shared.engine is not Engine.SPARK:
        events = GroupedEvents([tree], tree.grouping.keys, tree.slicing)
        tables = ((SLICES, events.text()),)
    else:
        events = GroupedEvents(plan.trees_of(shared), shared.keys, shared.slicing)
        name = f"pass_{shared.number + 1}"
        tables = ((name, events.text()), (SLICES, _fold_pass(tree, events, name)))
    return SliceTables(
        tables=tables,
        cut=_tumbling(tree.slicing),
        keys=events.keys_of(tree),
        names=events.names_of(tree),
    )


class GroupedEvents:
    """One GROUP BY of events for several trees. Components of a tree are under its filter."""

    def __init__(
        self, trees: Sequence[PeriodicTree], keys: Sequence[str], slicing: Slicing
    ) -> None:
        self._grouping = trees[0].grouping
        self._common = common_filter([tree.grouping.where for tree in trees])
        # A key that is more than a column is computed only for events that pass the tree's filter.
        self._keys: dict[tuple[str, str | None], str] = {}
        for key in keys:
            for tree in trees:
                if key in tree.grouping.keys:
                    self._keys.setdefault(self._key(key, tree), f"k{len(self._keys)}")
        self._slice = window_call(_tumbling(slicing), self._grouping.time)
        self._names: dict[tuple[Component, str | None], str] = {}
        for tree in trees:
            guard = self._guard(tree)
            for component in (*_components(tree), *([] if guard is None else [_COUNT])):
                self._names.setdefault((component, guard), f"c{len(self._names)}")

    def keys_of(self, tree: PeriodicTree) -> tuple[str, ...]:
        """Returns the columns of a tree's keys."""
        return tuple(self._keys[self._key(key, tree)] for key in tree.grouping.keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of all keys."""
        return tuple(self._keys.values())

    @property
    def parts(self) -> dict[str, Component]:
        """The component in each column of components."""
        return {name: part.filtered_by(guard) for (part, guard), name in self._names.items()}

    def names_of(self, tree: PeriodicTree) -> dict[Component, str]:
        """Returns the columns of a tree's components."""
        guard = self._guard(tree)
        return {component: self._names[component, guard] for component in _components(tree)}

    def count_for(self, tree: PeriodicTree) -> str | None:
        """Returns the column that counts the events of a tree; None if it has all events."""
        guard = self._guard(tree)
        return None if guard is None else self._names[_COUNT, guard]

    def text(self) -> str:
        """Returns the SELECT; its column `w` is the slice."""
        keys = [
            key if guard is None else f"CASE WHEN {guard} THEN {key} END"
            for key, guard in self._keys
        ]
        columns = [f"{key} AS {name}" for key, name in zip(keys, self.keys, strict=True)]
        columns.append(f"{self._slice} AS w")
        columns += [
            f"{_lift_sql(component.filtered_by(guard))} AS {name}"
            for (component, guard), name in self._names.items()
        ]
        where = f"\nWHERE {self._common}" if self._common else ""
        groups = ", ".join([*keys, self._slice])
        relation = self._grouping.relation.fill(NAMES).strip()
        return f"SELECT {join_columns(columns)}\nFROM {relation}{where}\nGROUP BY {groups}"

    def _key(self, key: str, tree: PeriodicTree) -> tuple[str, str | None]:
        return key, None if _COLUMN.fullmatch(key) else self._guard(tree)

    def _guard(self, tree: PeriodicTree) -> str | None:
        """Returns the filter of a tree, or None if the WHERE clause has it already."""
        where = tree.grouping.where
        return None if where == self._common else where


def _fold_pass(tree: PeriodicTree, events: GroupedEvents, source: str) -> str:
    """Returns the SELECT that folds the slices of a pass into those of a tree."""
    keys = events.keys_of(tree)
    columns = [*keys, "window AS w"]
    columns += [
        f"{part.combine_sql(name)} AS {name}" for part, name in events.names_of(tree).items()
    ]
    count = events.count_for(tree)
    where = "" if count is None else f"\nWHERE {count} > 0"
    groups = ", ".join([*keys, window_call(_tumbling(tree.slicing), "w.start")])
    return f"SELECT {join_columns(columns)}\nFROM {source}{where}\nGROUP BY {groups}"


def _components(tree: PeriodicTree) -> dict[Component, None]:
    return dict.fromkeys(part for aggregate in tree.aggregates for part in aggregate.components)


def _tumbling(slicing: Slicing) -> Window:
    """Returns the tumbling window whose edges include all edges of a slicing."""
    cell = grid(slicing.edges)
    return Window(size=cell.period, slide=cell.period, offset=cell.phase)


def _lift_sql(part: Component) -> str:
    """Returns the aggregate, or struct of aggregates, that computes a component."""
    scalars = part.partial_sql()
    if len(scalars) == 1:
        return next(iter(scalars.values()))
    fields = ",\n".join(f"    '{name}', {sql}" for name, sql in scalars.items())
    return f"named_struct(\n{fields})"


def window_call(window: Window, time: str) -> str:
    """Returns a call of Spark's `window`."""
    lengths = [window.size]
    if not window.is_tumbling or window.offset:
        lengths.append(window.slide)
    if window.offset:
        lengths.append(window.offset)
    texts = ", ".join(f"'{format_duration(length)}'" for length in lengths)
    return f"window({time}, {texts})"


def join_columns(columns: Sequence[str]) -> str:
    """Returns columns in one line, or one per line if they are long."""
    line = ", ".join(columns)
    return line if len(line) <= 80 else ",\n  ".join(columns)


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
        self._tree = plan.find_node(query.name)[0].restrict_to([query])
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
            where = f"\nWHERE {inside}" + (
                "" if parent is None else f" AND w.end <= {INTERVAL_COLUMN}.end"
            )
            name = window = INTERVAL_COLUMN
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
            **{name: position[collapse_spaces(key)] for name, key in query.key_expressions.items()},
            **{name: query.null_of(key).fill(NAMES) for name, key in query.null_keys.items()},
            "window": "w",
            **{
                name: lower_sql(aggregate, self._names, self._types)
                for name, aggregate in query.aggregates.items()
            },
            **query.mark_values,
        }
        names = {name: known[name] for name in query.names}
        source = self._tables[self._tree.nodes[-1].window]
        alone = [query.bare_name(column.expression) for column in query.columns]
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
        plain = query.whole_query.to_sql().fill(NAMES).strip().rstrip(";")
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
    return (
        expression if name is None or name == expression else f"{expression} AS {quote_name(name)}"
    )


def indent(text: str) -> str:
    """Returns a text indented by two spaces."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
