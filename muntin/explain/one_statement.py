"""A plan as one Spark SQL statement, in which Spark reads each relation once.

Spark computes a table expression again wherever it is named, so each is named once here. One GROUP
BY makes the slices for all trees of a relation and time. Then each depth of the trees has a stage,
which copies every row into the windows of all nodes that read it, including factor windows, and
combines them by one GROUP BY. The last SELECT returns the name of the query and all columns.

```
slices     device, [12:00, 12:01)                  a row
windows_1  node 0 [12:00, 12:05), node 1 [12:00, 12:01)
windows_2  node 0 as it is, node 2 [12:00, 13:00)  made of node 0
```
"""

from collections.abc import Sequence

from muntin.errors import ModelError
from muntin.explain.statements import GroupedEvents, Types, indent, join_columns, lower_sql
from muntin.model.plan import Plan, trees_by_family
from muntin.model.query import PlainQuery, Query
from muntin.model.trees import Node, PeriodicTree
from muntin.model.windows import Window
from muntin.optimizer.edges import common_slicing
from muntin.optimizer.transitions import without
from muntin.sql_text import collapse_spaces, literal, quote_name

# The column with the name of a row's query, as in `results.together()`.
QUERY = "query"
# A struct of all columns of a row, next to which a query's columns have the query's own names.
_ROW = "_muntin_row"
_EPOCH_NTZ = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def one_statement(plan: Plan, types: Types | None = None) -> str:
    """Returns one statement that answers all queries with periodic windows.

    Comments above it name the other queries, with the reason why they are left out.
    """
    left_out = {query.name: _reason_left_out(query) for query in plan.queries}
    if all(left_out.values()):
        raise ModelError("no query of the plan is answered from slices; ask for one by its name")
    periodic = (part.whole_query.name for part in plan.workload.periodic_queries)
    if names := {name for name in periodic if left_out[name]}:
        plan = without(plan, names)
    families = trees_by_family(plan.periodic_trees)
    many = len(families) > 1
    parts = [
        _Family(trees, plan, types or {}, suffix=f"_of_{number}" if many else "")
        for number, trees in enumerate(families.values(), start=1)
    ]
    columns = list(dict.fromkeys(name for part in parts for name in part.outputs))
    if QUERY in map(str.lower, columns):
        raise ModelError(f"one statement has a column {QUERY!r} of its own; name yours otherwise")
    tables = [table for part in parts for table in part.tables()]
    with_ = ",\n".join(f"{name} AS (\n{indent(body)}\n)" for name, body in tables)
    answers = "\nUNION ALL\n".join(part.answers(columns) for part in parts)
    comments = [f"-- {name!r} is not in it: {why}\n" for name, why in left_out.items() if why]
    return "".join([*comments, f"WITH {with_}\n{answers}"])


def _reason_left_out(query: Query | PlainQuery) -> str | None:
    """Returns why a query is not in the statement; None if it is."""
    if isinstance(query, PlainQuery):
        return " ".join(query.reason.split())
    if not query.is_periodic:
        return "its windows are found in the data"
    if not query.is_native:
        return "SQL does not combine what its slices keep"
    return None if query.ending is None else "it has an order or a limit of its own"


class _Family:
    """The trees of one relation and time."""

    def __init__(
        self, trees: Sequence[PeriodicTree], plan: Plan, types: Types, *, suffix: str
    ) -> None:
        self._types, self._suffix = types, suffix
        slicing = common_slicing(tree.slicing for tree in trees)
        keys = sorted({key for tree in trees for key in tree.grouping.keys})
        self._events = GroupedEvents(trees, keys, slicing)
        self._nodes = [(tree, node) for tree in trees for node in tree.nodes]
        self._number = {
            (id(tree), node.window): place for place, (tree, node) in enumerate(self._nodes)
        }
        self._depth: list[int] = []
        for tree, node in self._nodes:
            parent = self._parent(tree, node)
            self._depth.append(1 if parent is None else self._depth[parent] + 1)
        # Each query, or grouping set of one, with the place of its node.
        self._asked: list[tuple[int, PeriodicTree, Query]] = [
            (self._number[id(tree), plan.find_node(query.name)[1].window], tree, query)
            for tree in trees
            for query in plan.queries_of(tree).values()
        ]
        # The SQL of each column of each query.
        self._columns: list[dict[str, str]] = []
        self._having: list[str] = []
        self._scopes: list[tuple[str, str]] = []
        for number in range(len(self._asked)):
            self._read_columns(number)

    @property
    def outputs(self) -> list[str]:
        """The names of the columns of all queries."""
        return list(dict.fromkeys(name for columns in self._columns for name in columns))

    def tables(self) -> list[tuple[str, str]]:
        """Returns the table expressions, each after the one that it reads."""
        tables = [
            (f"slices{self._suffix}", self._events.text()),
            (f"timed{self._suffix}", self._slices_in_micros()),
        ]
        for depth in range(1, max(self._depth) + 1):
            tables.append((f"windows_{depth}{self._suffix}", self._stage(depth, tables[-1][0])))
        tables.append((f"answers{self._suffix}", self._rows_by_query(tables[-1][0])))
        for names, columns in self._scopes:
            number = len(tables)
            tables.append((f"named_{number}{self._suffix}", f"{names}\nFROM {tables[-1][0]}"))
            tables.append((f"computed_{number}{self._suffix}", f"{columns}\nFROM {tables[-1][0]}"))
        return tables

    def answers(self, names: Sequence[str]) -> str:
        """Returns the SELECT of the long form, with columns of these names."""
        called = [literal(query.whole_query.name) for _, _, query in self._asked]
        columns = [f"{_case_by_number(called, 'q')} AS {QUERY}"]
        for name in names:
            values = [of_query.get(name, "NULL") for of_query in self._columns]
            columns.append(f"{_case_by_number(values, 'q')} AS {quote_name(name)}")
        having = _case_by_number(self._having, "q")
        where = "" if having == "true" else f"\nWHERE {having}"
        source = self.tables()[-1][0]
        return "SELECT " + ",\n  ".join(columns) + f"\nFROM {source}{where}"

    # Columns of rows: `node`, `at` (the interval, as `Window` encodes it), `origin` (1970 in the
    # type of the time), keys and components.

    def _slices_in_micros(self) -> str:
        """Returns the slices with `at`, their start in microseconds, and the instant of zero."""
        columns = [*self._events.keys, *self._events.parts, "at"]
        columns.append(f"{_add_micros('w.start', '-at')} AS origin")
        inner = indent(f"SELECT *, {_micros_of('w.start')} AS at\nFROM slices{self._suffix}")
        return f"SELECT {join_columns(columns)}\nFROM (\n{inner}\n)"

    def _stage(self, depth: int, source: str) -> str:
        """Returns the windows of one depth, and those above it that answer queries."""
        targets = []
        passed = [
            place
            for place, (_, node) in enumerate(self._nodes)
            if node.queries and self._depth[place] < depth
        ]
        if passed:
            same = "array(named_struct('node', node, 'at', at))"
            targets.append(_if(f"node IN ({_numbers(passed)})", same))
        for place, (tree, node) in enumerate(self._nodes):
            if self._depth[place] == depth:
                targets.append(self._target(place, tree, node))
        names = self._events.parts
        keys = {key: self._key(key, depth) for key in self._events.keys}
        columns = ["target.node AS node", "target.at AS at", "any_value(origin) AS origin"]
        columns += [key if text == key else f"{text} AS {key}" for key, text in keys.items()]
        columns += [f"{part.combine_sql(name)} AS {name}" for name, part in names.items()]
        array = targets[0] if len(targets) == 1 else "concat(\n  " + ",\n  ".join(targets) + ")"
        inner = indent(f"SELECT *, explode({array}) AS target\nFROM {source}")
        groups = ", ".join(["target.node", "target.at", *keys.values()])
        return f"SELECT {join_columns(columns)}\nFROM (\n{inner}\n)\nGROUP BY {groups}"

    def _key(self, key: str, depth: int) -> str:
        """Returns the SQL of a key: in the first stage it is null for nodes without this key."""
        have = [place for place, (tree, _) in enumerate(self._nodes) if key in self._keys_of(tree)]
        if depth > 1 or len(have) == len(self._nodes):
            return key
        return f"CASE WHEN target.node IN ({_numbers(have)}) THEN {key} END"

    def _keys_of(self, tree: PeriodicTree) -> tuple[str, ...]:
        return self._events.keys_of(tree)

    def _target(self, place: int, tree: PeriodicTree, node: Node) -> str:
        """Returns an array of the intervals of a node that contain a row."""
        parent = self._parent(tree, node)
        inside = _intervals(node.window, 1 if node.parent is None else node.parent.size)
        found = f"transform({inside}, a -> named_struct('node', {place}, 'at', a))"
        conditions = []
        if parent is not None:
            conditions.append(f"node = {parent}")
            if not self._nodes[parent][1].window.is_tumbling:
                first, last = _bounds(node.window, self._nodes[parent][1].window.size)
                conditions.append(f"{first} <= {last}")
        else:
            count = self._events.count_for(tree)
            conditions += [] if count is None else [f"{count} > 0"]
        return _if(" AND ".join(conditions), found) if conditions else found

    def _parent(self, tree: PeriodicTree, node: Node) -> int | None:
        return None if node.parent is None else self._number[id(tree), node.parent]

    def _rows_by_query(self, source: str) -> str:
        """Returns each row once for every query that its node answers."""
        queries = [
            [number for number, (place, _, _) in enumerate(self._asked) if place == node]
            for node in range(len(self._nodes))
        ]
        lists = ", ".join(f"array({_numbers(of_node)})" for of_node in queries)
        return f"SELECT *, explode(element_at(array({lists}), node + 1)) AS q\nFROM {source}"

    def _read_columns(self, number: int) -> None:
        """Sets the SQL of a query's columns and HAVING, in tables of their own if needed."""
        _, _, query = self._asked[number]
        names = self._names(number)
        outputs = [_output(query, index) for index in range(len(query.columns))]
        if len(set(outputs)) < len(outputs):
            twice = next(name for name in outputs if outputs.count(name) > 1)
            raise ModelError(
                f"query {query.name!r}: two columns are called {twice!r}; name them apart"
            )
        alone = [query.bare_name(column.expression) for column in query.columns]
        if query.having is None and None not in alone:
            texts = [names[name] for name in alone if name is not None]
            self._columns.append(dict(zip(outputs, texts, strict=True)))
            self._having.append("true")
            return
        here = f"{_ROW}.q = {number}"
        wanted = [column.expression for column in query.columns]
        wanted += [query.having] if query.having else []
        made = [f"_muntin_{number}_{index}" for index in range(len(wanted))]
        named = [f"{text} AS {quote_name(name)}" for name, text in names.items()]
        computed = [
            f"CASE WHEN {here} THEN {text} END AS {name}"
            for text, name in zip(wanted, made, strict=True)
        ]
        self._scopes.append(
            (
                f"SELECT struct(*) AS {_ROW},\n  " + ",\n  ".join(named),
                f"SELECT {_ROW}.*,\n  " + ",\n  ".join(computed),
            )
        )
        self._columns.append(dict(zip(outputs, made, strict=False)))
        self._having.append(made[-1] if query.having else "true")

    def _names(self, number: int) -> dict[str, str]:
        """Returns the SQL of each name that a query's expressions may use."""
        place, tree, query = self._asked[number]
        window = self._nodes[place][1].window
        ends = (
            _add_micros("origin", _start_of(window)),
            _add_micros("origin", f"at + {window.size}L"),
        )
        keys = dict(zip(tree.grouping.keys, self._keys_of(tree), strict=True))
        components = self._events.names_of(tree)
        known = {
            **{name: keys[collapse_spaces(key)] for name, key in query.key_expressions.items()},
            **dict.fromkeys(query.null_keys, "NULL"),
            "window": "named_struct('start', {}, 'end', {})".format(*ends),
            **{
                name: lower_sql(aggregate, components, self._types)
                for name, aggregate in query.aggregates.items()
            },
            **query.mark_values,
        }
        return {name: known[name] for name in query.names}


def _output(query: Query, index: int) -> str:
    """Returns the name of a column, or its text if it has none."""
    column = query.columns[index]
    return column.name or query.bare_name(column.expression) or column.expression


def _if(condition: str, array: str) -> str:
    return f"if({condition}, {array}, array())"


def _case_by_number(values: Sequence[str], number: str) -> str:
    """Returns the value at the index `number`."""
    if len(set(values)) == 1:
        return values[0]
    cases = " ".join(f"WHEN {place} THEN {value}" for place, value in enumerate(values))
    return f"CASE {number} {cases} END"


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


# Intervals of windows as arithmetic over `at`, microseconds since 1970, because a SELECT may have
# `window(...)` only once.


def _bounds(window: Window, size: int) -> tuple[str, str]:
    """Returns the first and the last interval of a window that contain `[at, at + size)`, in the
    encoding of `Window`."""
    before = window.size - size
    first = f"at - {before}L + pmod({window.offset + before}L - at, {window.slide}L)"
    return first, f"at - {_time_since(window.offset, window.start_period)}"


def _intervals(window: Window, size: int) -> str:
    """Returns an array of all intervals of a window that contain `[at, at + size)`."""
    first, last = _bounds(window, size)
    return f"array({last})" if window.is_tumbling else f"sequence({first}, {last}, {window.slide}L)"


def _start_of(window: Window) -> str:
    """Returns the start of the interval that `at` encodes."""
    if not window.grows:
        return "at"
    lead = window.size - window.slide
    return f"at + {lead}L - {_time_since(window.offset - lead, window.size)}"


def _time_since(offset: int, period: int) -> str:
    """Returns the time since the last `t ≡ offset (mod period)`."""
    offset %= period
    return f"pmod(at{f' - {offset}L' if offset else ''}, {period}L)"


def _micros_of(instant: str) -> str:
    """Returns the microseconds since 1970 of a timestamp or a local timestamp."""
    since = f"(CAST({instant} AS TIMESTAMP_NTZ) - {_EPOCH_NTZ})"
    seconds = f"CAST(CAST({since} AS INTERVAL SECOND) AS BIGINT)"
    rest = f"({since} - INTERVAL '1' SECOND * {seconds}) * 1000000"
    local = f"{seconds} * 1000000L + CAST(CAST({rest} AS INTERVAL SECOND) AS BIGINT)"
    micros = f"unix_micros(CAST({instant} AS TIMESTAMP))"
    return f"CASE WHEN typeof({instant}) = 'timestamp_ntz' THEN {local} ELSE {micros} END"


def _add_micros(instant: str, micros: str) -> str:
    """Returns an instant plus microseconds. The interval has no days: their length varies."""
    seconds = f"CAST({micros} AS DECIMAL(20, 0)) / 1000000"
    return f"{instant} + make_interval(0, 0, 0, 0, 0, 0, {seconds})"
