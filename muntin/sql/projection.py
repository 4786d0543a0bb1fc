"""Rewrites SELECT items and HAVING as expressions over keys, `window` and aggregates.

Spark resolves these expressions against columns of these names. A column that is a key stays as the
user wrote it; the name of other keys and of aggregates is their text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.aggregates.aggregate import Aggregate
from muntin.model.grouping_sets import Mark
from muntin.sql.calls import (
    FOLLOWERS,
    is_aggregate_call,
    is_window,
    read_call,
    read_window,
    star_places,
)
from muntin.sql.clauses import Clauses
from muntin.sql.functions import AGGREGATES, GENERATORS, OF_ANY_ROW, UNSTABLE, reason_not_shared
from muntin.sql.group_by import (
    WINDOW,
    GroupBy,
    Key,
    is_key_at,
    join_qualified_names,
    unused_name,
)
from muntin.sql.tokens import NotSharedError, Replacement, Span, calls, is_call, render
from muntin.sql_text import quote_name

# Functions that return which keys a grouping set leaves out.
_MARKS = {"grouping", "grouping_id"}


@dataclass(kw_only=True)
class Projection:
    """Rewrites expressions one by one, and collects the aggregates that they call."""

    text: str
    clauses: Clauses
    group_by: GroupBy
    # Words of the statement in lower case, which new names must avoid.
    reserved: frozenset[str]
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    # Whether an expression refers to the window by its name, which a column may have, too.
    names_window: bool = False
    # Whether that name is in another case than Spark's.
    mixes_case: bool = False
    # Names of items of SELECT that HAVING uses.
    item_names: list[str] = field(default_factory=list)
    _by_identity: dict[tuple[object, ...], str] = field(default_factory=dict)

    def rewrite(
        self,
        tokens: Span,
        aliases: Mapping[str, str | None] | None = None,
        *,
        items_first: bool = False,
    ) -> str:
        """Returns an expression over key names, `window` and aggregate names.

        `aliases` has the items that may be named, in lower case; None for an ambiguous name. In
        HAVING Spark looks for a key first, and then for an item; in ORDER BY, for an item first.
        """
        tokens = join_qualified_names(tokens, self.clauses)
        replacements: dict[int, Replacement] = {}
        with_aggregate: list[int] = []
        place = 0
        while place < len(tokens):
            if is_aggregate_call(tokens, place):
                call = read_call(self.text, tokens, place)
                name = self._by_identity.get(call.identity) or self._add(call.aggregate)
                self._by_identity[call.identity] = name
                replacement: Replacement | None = self._write_column(tokens, place, call.stop, name)
                with_aggregate.append(place)
            else:
                item = self._item(tokens, place, aliases or {}) if items_first else None
                replacement = item or self._replacement(
                    tokens, place, {} if items_first else aliases or {}
                )
            if replacement is None:
                place += 1
                continue
            if items_first and replacement.stop > place + 1:
                self._check_no_items(tokens[place : replacement.stop], aliases or {})
            replacements[place] = replacement
            place = replacement.stop
        self._check_rest(tokens, replacements, with_aggregate)
        return render(self.text, tokens, replacements)

    def _add(self, aggregate: Aggregate) -> str:
        name = unused_name(aggregate.to_sql(), self.reserved)
        self.aggregates[name] = aggregate
        return name

    def ensure_aggregate(self) -> None:
        """Adds a count if there is no aggregate: then the groups themselves are the answer."""
        if not self.aggregates:
            self._add(Aggregate(function="count"))

    def _mark(self, tokens: Span, place: int) -> Replacement:
        """Returns the replacement for `grouping` or `grouping_id` of keys."""
        end = tokens.closing_position(place + 1)
        written = render(self.text, tokens[place : end + 1])
        asked = [self._key_name(argument) for argument in tokens[place + 2 : end].split_at_commas()]
        order, is_id = self.group_by.order, tokens[place].norm == "grouping_id"
        if None in asked or (asked and tuple(asked) != order if is_id else len(asked) != 1):
            raise NotSharedError(f"{written} is not of the keys of GROUP BY")
        mark = Mark(keys=order if is_id else tuple(filter(None, asked)), is_id=is_id)
        name = next((name for name, known in self.marks.items() if known == mark), None)
        if name is None:
            name = unused_name(written, self.reserved)
            self.marks[name] = mark
        return self._write_column(tokens, place, end + 1, name)

    def _key_name(self, tokens: Span) -> str | None:
        """Returns the name of the key that an expression is; None if it is no key."""
        tokens = tokens.strip_parentheses()
        if is_window(tokens) and tokens.is_bracketed(1):
            is_same = read_window(self.text, tokens)[0] == self.group_by.window
            return WINDOW if is_same else None
        if [token.name for token in tokens] == [WINDOW]:
            self.names_window = True
            return WINDOW
        keys = {key.tokens.strip_parentheses().norms(): key.name for key in self.group_by.keys}
        return keys.get(tokens.norms())

    def _replacement(
        self, tokens: Span, place: int, aliases: Mapping[str, str | None]
    ) -> Replacement | None:
        """Returns the replacement for a window, key or alias at an index, if there is one."""
        here = tokens[place]
        if tokens.kind_at(place - 1) == "DOT":
            return None
        if self.group_by.sets is not None and here.norm in _MARKS and is_call(tokens, place):
            return self._mark(tokens, place)
        if here.norm in OF_ANY_ROW and is_call(tokens, place):
            return self._of_any_row(tokens, place)
        if is_window(tokens[place : place + 2]):
            stop = tokens.closing_position(place + 1) + 1
            if read_window(self.text, tokens[place:stop])[0] != self.group_by.window:
                raise NotSharedError("two windows in one query")
            return self._write_column(tokens, place, stop, "window")
        if here.norm == self.group_by.window.name and here.start in self.clauses.columns:
            self.names_window = True
            self.mixes_case |= here.name != self.group_by.window.name
            return self._write_column(tokens, place, place + 1, "window", here.norm)
        fitting = [key for key in self.group_by.keys if is_key_at(key, tokens, place, self.clauses)]
        if fitting:
            return self._key(tokens, place, max(fitting, key=lambda key: len(key.tokens)))
        item = self._item(tokens, place, aliases)
        if item is not None:
            self.item_names.append(here.name)
        return item

    def _item(
        self, tokens: Span, place: int, aliases: Mapping[str, str | None]
    ) -> Replacement | None:
        """Returns the replacement for the name of an item of SELECT, if there is such an item."""
        here = tokens[place]
        # `r.x` is a column, never an item.
        is_bare = self.text[here.start : here.end] in {here.name, quote_name(here.name)}
        is_column = here.start in self.clauses.columns and tokens.kind_at(place - 1) != "DOT"
        if here.norm not in aliases or not is_column or not is_bare:
            return None
        expression = aliases[here.norm]
        if expression is None:
            raise NotSharedError(f"two items of SELECT are called {here.name}")
        return Replacement(stop=place + 1, text=f"({expression})")

    def _check_no_items(self, tokens: Span, aliases: Mapping[str, str | None]) -> None:
        """Refuses aggregates and keys in ORDER BY that use the name of another item, and windows,
        which Spark does not accept there."""
        if is_window(tokens):
            raise NotSharedError("a window in ORDER BY that is called anew")
        for token in tokens:
            is_item = token.start in self.clauses.columns and token.norm in aliases
            if is_item and aliases[token.norm] not in {token.name, quote_name(token.name)}:
                raise NotSharedError(
                    f"in ORDER BY, {token.name} may mean a column or an item of SELECT"
                )

    def _of_any_row(self, tokens: Span, place: int) -> Replacement | None:
        """Returns the replacement for a call such as `first(x)` if `x` is a key or a literal, which
        is the same in all rows of a group; None for other arguments."""
        end = tokens.closing_position(place + 1)
        given = tokens[place + 2 : end].split_at_commas()
        has_follower = not FOLLOWERS.keys().isdisjoint(tokens[end + 1 : end + 2].norms())
        # The second argument is whether nulls are ignored.
        is_plain = [each.norms() for each in given[1:]] in ([], [("true",)], [("false",)])
        # With grouping sets, the argument is the column of the rows, not the key.
        if self.group_by.sets is not None or has_follower or not given or not is_plain:
            return None
        keys = {
            len(key.tokens): key
            for key in self.group_by.keys
            if is_key_at(key, tokens, place + 2, self.clauses)
        }
        if len(given[0]) in keys:
            value = self._key(tokens, place + 2, keys[len(given[0])]).text
        elif len(given[0]) == 1 and given[0][0].kind in {"NUMBER", "STRING"}:
            value = render(self.text, given[0])
        else:
            return None
        # Spark treats the value of some row as nullable.
        return Replacement(stop=end + 1, text=f"IF(false, NULL, {value})")

    def _key(self, tokens: Span, place: int, key: Key) -> Replacement:
        """Returns the replacement for a key; a column stays as it is written."""
        stop = place + len(key.tokens)
        here = tokens[place]
        if key.is_column:
            written = self.text[here.start : here.end]
            return Replacement(
                stop=stop, text=written if written == here.name else quote_name(here.name)
            )
        return self._write_column(tokens, place, stop, key.name, key.field_name)

    def _write_column(
        self, tokens: Span, place: int, stop: int, name: str, field_name: str | None = None
    ) -> Replacement:
        """Returns the replacement of the tokens `[place, stop)` by the column `name`.

        Where Spark names a field of a struct after these tokens, the column is written so that the
        field is still called `field_name`, or has no name if that is None.
        """
        text = quote_name(name)
        if name != field_name and _is_field(tokens, place, stop):
            text = (
                f"coalesce({text})" if field_name is None else f"{text} AS {quote_name(field_name)}"
            )
        return Replacement(stop=stop, text=text)

    def _check_rest(
        self, tokens: Span, replacements: Mapping[int, Replacement], with_aggregate: list[int]
    ) -> None:
        """Refuses what needs single rows: other aggregates, and columns that are no keys."""
        covered = {
            place
            for start, replacement in replacements.items()
            for place in range(start, replacement.stop)
        }
        called: list[tuple[int, int, str]] = []
        for place, name in calls(tokens):
            if place not in covered:
                end = tokens.closing_position(place + 1)
                written = render(self.text, tokens[place : end + 1])
                called.append((place, end, written))
                has_aggregate = any(place < inside < end for inside in with_aggregate)
                self._check_call(name, written, has_aggregate=has_aggregate)
        for place, token in enumerate(tokens):
            if place in covered or token.start not in self.clauses.columns:
                continue
            around = [written for start, end, written in called if start < place < end]
            if around:
                raise NotSharedError(f"{around[-1]} is not built from slices")
            raise NotSharedError(f"{token.name} is neither a key nor inside an aggregate")
        if star_places(tokens) - covered:
            raise NotSharedError("* stands for columns that are no keys")

    def _check_call(self, name: str, written: str, *, has_aggregate: bool) -> None:
        """Refuses a function that needs single rows; `has_aggregate`: in one of its arguments."""
        if name in AGGREGATES:
            raise NotSharedError(f"{written} {reason_not_shared(name)}")
        if name in UNSTABLE:
            raise NotSharedError(f"{name}() gives other values each time")
        if name in GENERATORS:
            raise NotSharedError(f"{name} makes several rows of one")
        if name == "window_time":
            raise NotSharedError("window_time reads Spark's own window")
        # A user's function may be an aggregate, unless there is an aggregate inside.
        if name in self.clauses.unknown and not has_aggregate:
            raise NotSharedError(f"{written} may be an aggregate of its own")


# Functions that return a struct whose fields are named after the arguments.
_NAMING_CALLS = {"struct", "arrays_zip"}


def _is_field(tokens: Span, place: int, stop: int) -> bool:
    """Whether the tokens `[place, stop)` are an argument after which Spark names a field."""
    around = {tokens.kind_at(place - 1), tokens.kind_at(stop)}
    if not around <= {"L_PAREN", "COMMA", "R_PAREN"}:
        return False
    depth = 0
    for before in range(place - 1, -1, -1):
        depth += (tokens[before].kind == "R_PAREN") - (tokens[before].kind == "L_PAREN")
        if depth < 0:
            caller = tokens[before - 1] if before else None
            if caller is None or not caller.is_name:
                # Brackets around several values are a struct: `(a, b)`.
                return "COMMA" in around
            return caller.norm in _NAMING_CALLS
    return False
