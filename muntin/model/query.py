"""Queries: a `Query` can share slices, a `PlainQuery` is left to Spark."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from muntin.aggregates.aggregate import Aggregate
from muntin.errors import ModelError
from muntin.model.data_windows import Custom, DataWindow, Session
from muntin.model.grouping_sets import GroupingSets, Mark, check_sets, cross_sets, distinct_keys
from muntin.model.windows import INTERVAL_COLUMN, CumulateWindow, Window
from muntin.sql_text import SqlText, collapse_spaces, name_parts, quote_name, strip_comments

# Identifiers that Spark reads as values, never as columns.
_CONSTANTS = {"true", "false", "null"}


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of an answer: Spark SQL over the query's key names, `window` and aggregate names.

    Spark names a column that has no name.
    """

    name: str | None
    expression: str


@dataclass(frozen=True, kw_only=True)
class Family:
    """A relation and its time: what queries must have in common to be cut in one pass."""

    relation: SqlText
    time: str

    def __str__(self) -> str:
        tables = self.relation.tables
        source = (tables[0] or "data") if tables else str(self.relation)
        return f"{source} over {self.time}"


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """The keys and the filter that slices are made for, over one relation and time."""

    relation: SqlText
    time: str
    where: str | None
    keys: tuple[str, ...]

    @property
    def family(self) -> Family:
        """The relation and time, which queries with other keys and filters may share."""
        return Family(relation=self.relation, time=self.time)

    def __str__(self) -> str:
        where = f" where {self.where}" if self.where else ""
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        tables = self.relation.tables
        source = (tables[0] or "data") if tables else str(self.relation)
        return f"{source}{where}{keys} over {self.time}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """Aggregates per key and window, then a projection and a condition over them.

    The query filters `relation` by `where`, groups it by `keys` and by `window` over `time`,
    computes `aggregates`, keeps the rows where `having` holds, and returns `columns`. `keys`,
    `aggregates` and `columns` are in the order of the answer's columns. `ending` is the ORDER BY or
    SORT BY, LIMIT and OFFSET, over the same names as `having`.

    With grouping sets among the `keys`, or with `sets` of their names, it groups by each of the
    sets, and returns the rows of all of them. A key that a set leaves out is null in its rows, and
    `marks` identify the sets. The planner handles each set as a query of its own, one of `parts`.
    """

    name: str
    window: Window | DataWindow
    aggregates: Mapping[str, Aggregate]
    time: str
    keys: Mapping[str, str] | Sequence[str | GroupingSets] | GroupingSets = field(
        default_factory=dict
    )
    sets: Sequence[Sequence[str]] | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict)
    where: str | None = None
    having: str | None = None
    ending: str | None = None
    relation: SqlText | str | None = None
    columns: Sequence[Column] = ()
    # The statement that the query was parsed from; Spark names unnamed columns by it.
    statement: SqlText | None = None
    # Whether the statement refers to `window` by name, which may also be a column of its source.
    names_window: bool = False
    # Whether the statement spells a column in two cases; only some sessions treat these as one.
    mixes_case: bool = False
    # Names by which its HAVING means items of SELECT. Spark compares with the type of the source's
    # column of that name, if there is one.
    item_names: tuple[str, ...] = ()
    # The query with grouping sets that this is one set of.
    part_of: "Query | None" = None

    def __post_init__(self) -> None:
        self._check_window_and_aggregates()
        keys, sets = self._keys_and_sets()
        relation = self.relation
        if not isinstance(relation, SqlText):
            relation = SqlText.table(relation) if relation else SqlText(("", ""), ("",))
        names = (*keys, "window", *self.aggregates, *self.marks)
        clashes = sorted(name for name in names if names.count(name) > 1)
        if clashes:
            raise ModelError(
                f"query {self.name!r}: two columns are called {clashes[0]!r}; name them apart"
            )
        columns = tuple(self.columns) or tuple(
            Column(name=name, expression=quote_name(name)) for name in names
        )
        for slot, value in (
            ("keys", dict(keys)),
            ("sets", sets),
            ("marks", dict(self.marks)),
            ("aggregates", dict(self.aggregates)),
            ("relation", relation),
            ("columns", columns),
            ("time", strip_comments(self.time)),
            ("where", self.where and strip_comments(self.where)),
            ("having", self.having and strip_comments(self.having)),
            ("ending", self.ending and strip_comments(self.ending)),
        ):
            object.__setattr__(self, slot, value)
        if self.part_of is None and (sets is not None or self.marks):
            check_sets(self.name, sets, self.marks, keys)
        if not self.is_periodic:
            self._check_data_window()

    def _check_window_and_aggregates(self) -> None:
        if self.part_of is None:
            check_name(self.name)
        if not isinstance(self.window, Window | DataWindow):
            raise ModelError(
                f"query {self.name!r}: window is made by tumbling, hopping or cumulate, or by "
                f"session, punctuation, count_window, delta, landmark, threshold or custom, "
                f"not {self.window!r}"
            )
        if not self.aggregates:
            raise ModelError(f"query {self.name!r}: at least one aggregate is needed")
        if not isinstance(self.aggregates, Mapping):
            raise ModelError(
                f"query {self.name!r}: aggregates are by name, as in "
                f"{{'hottest': mt.max('temp')}}, not {self.aggregates!r}"
            )
        for name, aggregate in self.aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise ModelError(
                    f"query {self.name!r}: {name!r} must be an aggregate such as mt.avg('temp'), "
                    f"not {aggregate!r}"
                )

    def _check_data_window(self) -> None:
        """Refuse grouping sets and growing windows, which only slices of time can answer."""
        if self.sets is not None:
            raise ModelError(
                f"query {self.name!r}: grouping sets are for tumbling and hopping windows, and for "
                f"aggregates of Spark's"
            )
        if isinstance(self.window, CumulateWindow):
            raise ModelError(
                f"query {self.name!r}: windows that grow are for aggregates of Spark's; take a "
                f"tumbling or hopping window for one of your own"
            )

    def _keys_and_sets(self) -> tuple[dict[str, str], tuple[tuple[str, ...], ...] | None]:
        """Returns the keys by name, and the names of the keys of each set, if there are sets."""
        keys, sets = self.keys, self.sets
        if isinstance(keys, str):
            raise ModelError(f"query {self.name!r}: keys is a list of columns, not {keys!r}")
        if isinstance(keys, GroupingSets):
            keys = [keys]
        if not isinstance(keys, Mapping):
            if any(isinstance(key, GroupingSets) for key in keys):
                if sets is not None:
                    raise ModelError(f"query {self.name!r}: its sets are given twice")
                sets = [[_key_name(key) for key in one] for one in cross_sets(keys)]
            keys = {_key_name(key): key for key in distinct_keys(keys)}
        named = {name: strip_comments(key) for name, key in keys.items()}
        return named, None if sets is None else tuple(tuple(dict.fromkeys(one)) for one in sets)

    @cached_property
    def parts(self) -> tuple["Query", ...]:
        """A query for each grouping set, or this query alone if it has none.

        Each has all columns: keys that its set leaves out are null, and marks are numbers.
        """
        if self.sets is None:
            return (self,)
        parts: dict[str, Query] = {}
        for given in self.sets:
            keys = {name: key for name, key in self.key_expressions.items() if name in given}
            name = f"{self.name} ({', '.join(keys)})"
            copies = sum(part.keys == keys for part in parts.values())
            name += f" {copies + 1}" if copies else ""
            parts[name] = replace(self, name=name, keys=keys, sets=None, part_of=self)
        return tuple(parts.values())

    @property
    def whole_query(self) -> "Query":
        """The query that the user wrote: this one, or the one that this one is a part of."""
        return self.part_of or self

    @property
    def null_keys(self) -> Mapping[str, str]:
        """The keys, by name, that are null because this grouping set leaves them out."""
        keys = self.whole_query.key_expressions
        return {name: key for name, key in keys.items() if name not in self.key_expressions}

    @property
    def mark_values(self) -> Mapping[str, str]:
        """The SQL of each mark: a number if this is one grouping set, else Spark's function."""
        keys = self.whole_query.key_expressions
        if self.part_of is None:
            return {name: mark.to_sql(keys) for name, mark in self.marks.items()}
        present = self.key_expressions
        return {name: mark.value(keys, present) for name, mark in self.marks.items()}

    @property
    def key_expressions(self) -> Mapping[str, str]:
        """The Spark expression of each key, by the key's name."""
        assert isinstance(self.keys, Mapping)
        return self.keys

    @property
    def source(self) -> SqlText:
        """The relation as SQL text."""
        assert isinstance(self.relation, SqlText)
        return self.relation

    @property
    def is_native(self) -> bool:
        """Whether Spark SQL can compute and combine the partials of all its aggregates."""
        return all(aggregate.definition.is_native for aggregate in self.aggregates.values())

    @property
    def values_in_sets(self) -> tuple[str, ...]:
        """The values, as Spark SQL, of which slices keep sets for this query, each once."""
        parts = (part for each in self.aggregates.values() for part in each.sets_of_values)
        return tuple(dict.fromkeys(part.value_in_set for part in parts))

    @property
    def expressions(self) -> tuple[str, ...]:
        """All Spark SQL that is evaluated for each event: the time, keys, filters and arguments,
        and the conditions and measures of a data window."""
        grouping, window = self.grouping, self.window
        texts: list[str | None] = [grouping.time, *grouping.keys, grouping.where]
        for each in self.aggregates.values():
            texts += [each.argument, *each.others, each.where]
        if isinstance(window, DataWindow):
            texts += [*window.conditions, *window.measures]
        if isinstance(window, Custom):
            texts += [sql for _, sql in window.columns]
        return tuple(text for text in texts if text is not None)

    @property
    def has_user_code(self) -> bool:
        """Whether its window or one of its aggregates runs Python code of the user's."""
        return isinstance(self.window, Custom) or any(
            aggregate.has_user_code for aggregate in self.aggregates.values()
        )

    @property
    def is_periodic(self) -> bool:
        """Whether slices of time, cut by Spark, can answer the query."""
        return isinstance(self.window, Window) and not any(
            aggregate.has_user_code for aggregate in self.aggregates.values()
        )

    @property
    def periodic_window(self) -> Window:
        """The window, which must be periodic; raises an error for a data window."""
        if not isinstance(self.window, Window):
            raise ModelError(f"query {self.name!r}: {self.window} is no periodic window")
        return self.window

    @cached_property
    def grouping(self) -> Grouping:
        """The keys and filter of its slices; the order of keys does not matter."""
        return Grouping(
            relation=self.source,
            time=collapse_spaces(self.time),
            where=collapse_spaces(self.where) if self.where else None,
            keys=tuple(sorted({collapse_spaces(key) for key in self.key_expressions.values()})),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that its columns and its `having` may use, in order."""
        return (*self.whole_query.key_expressions, "window", *self.aggregates, *self.marks)

    def bare_name(self, expression: str) -> str | None:
        """Returns the name that an expression consists of, or None for any other expression."""
        for name in self.names:
            if expression == quote_name(name):
                return name
            if expression == name and name.isidentifier() and name.lower() not in _CONSTANTS:
                return name
        return None

    def _window_call(self) -> str:
        """Returns the window as Spark SQL."""
        window = self.window
        if isinstance(window, Session):
            return f"session_window({self.time}, '{window.gap_sql}')"
        if isinstance(window, CumulateWindow):
            return INTERVAL_COLUMN
        if not isinstance(window, Window):
            raise ModelError(f"query {self.name!r}: Spark SQL has no window such as {window}")
        lengths = (
            f"'{micros} microseconds'" for micros in (window.size, window.slide, window.offset)
        )
        return f"window({self.time}, {', '.join(lengths)})"

    def null_of(self, key: str) -> SqlText:
        """Returns SQL for a null of a key's type."""
        return self.source.surround(f"(SELECT first({key}) FROM ", " WHERE false)")

    def to_sql(self) -> SqlText:
        """Returns the query as one Spark SQL statement."""
        if self.statement is not None and self.part_of is None:
            return self.statement
        for aggregate in self.aggregates.values():
            if aggregate.has_user_code:
                raise ModelError(
                    f"query {self.name!r}: Spark SQL has no aggregate such as {aggregate}"
                )
        window = self._window_call()
        keys = self.key_expressions
        values: dict[str, SqlText | str] = {
            **{name: self.null_of(key) for name, key in self.null_keys.items()},
            **keys,
            "window": window,
            **{name: aggregate.to_sql() for name, aggregate in self.aggregates.items()},
            **self.mark_values,
        }
        # The outer SELECT names the columns: here, later expressions could refer to an alias.
        inner: list[SqlText | str] = []
        for index, name in enumerate(self.names):
            inner += [", " if index else "", values[name], f" AS _muntin_{index}"]
        names = ", ".join(map(quote_name, self.names))
        outer = ", ".join(
            column.expression + (f" AS {quote_name(column.name)}" if column.name else "")
            for column in self.columns
        )
        plain = [Column(name=name, expression=quote_name(name)) for name in self.names]
        if list(self.columns) == plain:
            # Names may differ only in case, so they are not listed.
            outer = "*"
        views, conditions = "", [self.where] if self.where else []
        if isinstance(self.window, CumulateWindow):
            views, inside = self.window.views(self.time)
            conditions = [*(f"({condition})" for condition in conditions), inside]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        having = f" WHERE {self.having}" if self.having else ""
        groups = ", ".join([*keys.values(), window])
        if self.sets is not None:
            # The window comes first: its bit is the highest of `grouping_id()`, and never set.
            sets = (", ".join([window, *(keys[name] for name in one)]) for one in self.sets)
            groups = ", ".join([window, *keys.values()])
            groups += f" GROUPING SETS ({', '.join(f'({one})' for one in sets)})"
        before, after = "", having
        if self.ending:
            # In a SELECT of its own, where no item has the name of something else.
            before, after = "(SELECT * FROM ", f"{having} {self.ending}) AS answers"
        return SqlText.concat(
            f"SELECT {outer} FROM {before}(SELECT ",
            *inner,
            " FROM ",
            self.source,
            f"{views}{where} GROUP BY {groups}) AS answers({names}){after}",
        )


def _key_name(key: str) -> str:
    """Returns a column's own name; a field of a struct has its last part, as in Spark."""
    return name_parts(key)[-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainQuery:
    """A statement that Spark answers alone, and the reason why it cannot share."""

    name: str
    statement: SqlText
    reason: str
    # The window that it groups by, if that is known: what Spark spends on it depends on that.
    window: Window | DataWindow | None = None

    def __post_init__(self) -> None:
        check_name(self.name)


def tables_of(queries: Iterable[Query | PlainQuery]) -> list[str]:
    """Returns the tables that queries read, once each."""
    tables: list[str] = []
    for query in queries:
        if isinstance(query, Query):
            tables += query.source.tables
        if query.statement is not None:
            tables += query.statement.tables
    return list(dict.fromkeys(tables))


def parts_of(queries: Iterable[Query | PlainQuery]) -> list[Query]:
    """Returns the queries that can share, one for each grouping set."""
    return [part for query in queries if isinstance(query, Query) for part in query.parts]


def check_name(name: str) -> None:
    """Raises an error if a name cannot be a folder's."""
    if not isinstance(name, str) or not name or name.strip(". ") == "" or set(name) & set("/\\\0"):
        raise ModelError(f"a query's name is used as a folder's; {name!r} cannot be one")


def windows(name: str, windows: Mapping[str, Window | DataWindow], **query: Any) -> list[Query]:
    """Returns a query for each window, called by its name and the window's: `load_hour`.

    `query` is the rest of what `Query` takes. In SQL it is Azure's `Windows(Window('hour', ...))`.
    """
    if not windows:
        raise ModelError(f"query {name!r}: at least one window is needed")
    return [Query(name=f"{name}_{key}", window=window, **query) for key, window in windows.items()]
