"""Rewrites SELECT items and HAVING as expressions over keys, `window` and aggregates.

Spark resolves these expressions against columns of these names. A column that is a key is left as
its user wrote it; other keys and aggregates stand under their text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.model.aggregates.aggregate import Aggregate
from muntin.model.grouping_sets import Mark
from muntin.model.sql_text import quoted
from muntin.sql.aggregates import FOLLOWERS, is_shared, read_call, star_places
from muntin.sql.clauses import Clauses
from muntin.sql.functions import (
    AGGREGATES,
    GENERATORS,
    OF_ANY_ROW,
    UNSTABLE,
    calls,
    is_call,
    why_unshared,
)
from muntin.sql.group_by.keys import WINDOW, GroupBy, Key, fold, matches, unlike
from muntin.sql.group_by.windows import is_window, read_window
from muntin.sql.tokens import (
    NotSharedError,
    Span,
    Swap,
    closing,
    kind_at,
    norms,
    render,
    split,
    unwrapped,
)

# Which keys a grouping set leaves out.
_MARKS = {"grouping", "grouping_id"}


@dataclass(kw_only=True)
class Projection:
    """Rewrites expressions one by one, and gathers the aggregates that they ask for."""

    text: str
    clauses: Clauses
    group_by: GroupBy
    # Words of the statement, in lower case: names that it may use for something else.
    taken: frozenset[str]
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    # Whether some expression speaks of the window by its name, which a column may have, too.
    names_window: bool = False
    # Whether it does so in another case than Spark's.
    mixes_case: bool = False
    # Names by which HAVING means items of SELECT.
    item_names: list[str] = field(default_factory=list)
    _by_identity: dict[tuple[object, ...], str] = field(default_factory=dict)

    def rewrite(
        self,
        tokens: Span,
        aliases: Mapping[str, str | None] | None = None,
        *,
        items_first: bool = False,
    ) -> str:
        """An expression over key names, `window` and aggregate names.

        `aliases` are the items that may be named, in lower case; one that stands twice is none.
        In HAVING Spark looks for a key first, and then for an item. In ORDER BY it is the other way
        round.
        """
        tokens = fold(tokens, self.clauses)
        swaps: dict[int, Swap] = {}
        with_aggregate: list[int] = []
        place = 0
        while place < len(tokens):
            if is_shared(tokens, place):
                call = read_call(self.text, tokens, place)
                name = self._by_identity.get(call.identity) or self._add(call.aggregate)
                self._by_identity[call.identity] = name
                swap: Swap | None = self._unnamed(tokens, place, call.stop, name)
                with_aggregate.append(place)
            else:
                item = self._item(tokens, place, aliases or {}) if items_first else None
                swap = item or self._swap(tokens, place, {} if items_first else aliases or {})
            if swap is None:
                place += 1
                continue
            if items_first and swap.stop > place + 1:
                self._check_no_items(tokens[place : swap.stop], aliases or {})
            swaps[place] = swap
            place = swap.stop
        self._check_rest(tokens, swaps, with_aggregate)
        return render(self.text, tokens, swaps)

    def _add(self, aggregate: Aggregate) -> str:
        name = unlike(aggregate.to_sql(), self.taken)
        self.aggregates[name] = aggregate
        return name

    def ensure_aggregate(self) -> None:
        """Count rows where nothing is aggregated: the groups themselves are the answer."""
        if not self.aggregates:
            self._add(Aggregate(function="count"))

    def _mark(self, tokens: Span, place: int) -> Swap:
        """Returns the replacement for `grouping` or `grouping_id` of keys."""
        end = closing(tokens, place + 1)
        written = render(self.text, tokens[place : end + 1])
        asked = [self._marked(argument) for argument in split(tokens[place + 2 : end])]
        order, is_id = self.group_by.order, tokens[place].norm == "grouping_id"
        if None in asked or (asked and tuple(asked) != order if is_id else len(asked) != 1):
            raise NotSharedError(f"{written} is not of the keys of GROUP BY")
        mark = Mark(keys=order if is_id else tuple(filter(None, asked)), is_id=is_id)
        name = next((name for name, known in self.marks.items() if known == mark), None)
        if name is None:
            name = unlike(written, self.taken)
            self.marks[name] = mark
        return self._unnamed(tokens, place, end + 1, name)

    def _marked(self, tokens: Span) -> str | None:
        """Returns the name of the key that an expression is; None if it is none."""
        tokens = unwrapped(tokens)
        if is_window(tokens) and closing(tokens, 1) == len(tokens) - 1:
            is_same = read_window(self.text, tokens)[0] == self.group_by.window
            return WINDOW if is_same else None
        if [token.name for token in tokens] == [WINDOW]:
            self.names_window = True
            return WINDOW
        keys = {norms(unwrapped(key.tokens)): key.name for key in self.group_by.keys}
        return keys.get(norms(tokens))

    def _swap(self, tokens: Span, place: int, aliases: Mapping[str, str | None]) -> Swap | None:
        """Returns the replacement for a window, key or alias at a place, if there is one."""
        here = tokens[place]
        if kind_at(tokens, place - 1) == "DOT":
            return None
        if self.group_by.sets is not None and here.norm in _MARKS and is_call(tokens, place):
            return self._mark(tokens, place)
        if here.norm in OF_ANY_ROW and is_call(tokens, place):
            return self._of_any_row(tokens, place)
        if is_window(tokens[place : place + 2]):
            stop = closing(tokens, place + 1) + 1
            if read_window(self.text, tokens[place:stop])[0] != self.group_by.window:
                raise NotSharedError("two windows in one query")
            return self._unnamed(tokens, place, stop, "window")
        if here.norm == self.group_by.window.name and here.start in self.clauses.columns:
            self.names_window = True
            self.mixes_case |= here.name != self.group_by.window.name
            return self._named(tokens, place, place + 1, "window", here.norm)
        fitting = [key for key in self.group_by.keys if matches(key, tokens, place, self.clauses)]
        if fitting:
            return self._key(tokens, place, max(fitting, key=lambda key: len(key.tokens)))
        item = self._item(tokens, place, aliases)
        if item is not None:
            self.item_names.append(here.name)
        return item

    def _item(self, tokens: Span, place: int, aliases: Mapping[str, str | None]) -> Swap | None:
        """Returns the replacement for the name of an item of SELECT; None if it is none."""
        here = tokens[place]
        # `r.x` is a column, never an item.
        is_bare = self.text[here.start : here.end] in {here.name, quoted(here.name)}
        is_column = here.start in self.clauses.columns and kind_at(tokens, place - 1) != "DOT"
        if here.norm not in aliases or not is_column or not is_bare:
            return None
        expression = aliases[here.norm]
        if expression is None:
            raise NotSharedError(f"two items of SELECT are called {here.name}")
        return Swap(stop=place + 1, text=f"({expression})")

    def _check_no_items(self, tokens: Span, aliases: Mapping[str, str | None]) -> None:
        """Refuse an aggregate or key in ORDER BY of what is also the name of another item, and a
        window, which Spark does not take there."""
        if is_window(tokens):
            raise NotSharedError("a window in ORDER BY that is called anew")
        for token in tokens:
            is_item = token.start in self.clauses.columns and token.norm in aliases
            if is_item and aliases[token.norm] not in {token.name, quoted(token.name)}:
                raise NotSharedError(
                    f"in ORDER BY, {token.name} may mean a column or an item of SELECT"
                )

    def _of_any_row(self, tokens: Span, place: int) -> Swap | None:
        """Returns the replacement for a value of some row that is the same in all rows of a group:
        a key, or a literal. None if it is another one."""
        end = closing(tokens, place + 1)
        given = split(tokens[place + 2 : end])
        has_follower = not FOLLOWERS.keys().isdisjoint(norms(tokens[end + 1 : end + 2]))
        # The second argument says whether nulls count.
        is_plain = [norms(each) for each in given[1:]] in ([], [("true",)], [("false",)])
        # In grouping sets, a call means the column of the rows, not the key.
        if self.group_by.sets is not None or has_follower or not given or not is_plain:
            return None
        keys = {
            len(key.tokens): key
            for key in self.group_by.keys
            if matches(key, tokens, place + 2, self.clauses)
        }
        if len(given[0]) in keys:
            value = self._key(tokens, place + 2, keys[len(given[0])]).text
        elif len(given[0]) == 1 and given[0][0].kind in {"NUMBER", "STRING"}:
            value = render(self.text, given[0])
        else:
            return None
        # To Spark, the value of some row may be null.
        return Swap(stop=end + 1, text=f"IF(false, NULL, {value})")

    def _key(self, tokens: Span, place: int, key: Key) -> Swap:
        """A column stays as it is written, in the case in which it is written."""
        stop = place + len(key.tokens)
        here = tokens[place]
        if key.is_column:
            written = self.text[here.start : here.end]
            return Swap(stop=stop, text=written if written == here.name else quoted(here.name))
        if key.field_name is None:
            return self._unnamed(tokens, place, stop, key.name)
        return self._named(tokens, place, stop, key.name, key.field_name)

    def _named(self, tokens: Span, place: int, stop: int, name: str, field_name: str) -> Swap:
        """Writes a column so that it keeps the user's name for it as a field of a struct."""
        text = quoted(name)
        if name != field_name and _is_field(tokens, place, stop):
            text += f" AS {quoted(field_name)}"
        return Swap(stop=stop, text=text)

    def _unnamed(self, tokens: Span, place: int, stop: int, name: str) -> Swap:
        """Writes a column so that Spark gives it no name as a field of a struct."""
        text = quoted(name)
        return Swap(stop=stop, text=f"coalesce({text})" if _is_field(tokens, place, stop) else text)

    def _check_rest(
        self, tokens: Span, swaps: Mapping[int, Swap], with_aggregate: list[int]
    ) -> None:
        """Refuse what still reads single rows: other aggregates, and columns that are no keys."""
        covered = {place for start, swap in swaps.items() for place in range(start, swap.stop)}
        called: list[tuple[int, int, str]] = []
        for place, name in calls(tokens):
            if place in covered:
                continue
            end = closing(tokens, place + 1)
            written = render(self.text, tokens[place : end + 1])
            called.append((place, end, written))
            if name in AGGREGATES:
                raise NotSharedError(f"{written} {why_unshared(name)}")
            if name in UNSTABLE:
                raise NotSharedError(f"{name}() gives other values each time")
            if name in GENERATORS:
                raise NotSharedError(f"{name} makes several rows of one")
            if name == "window_time":
                raise NotSharedError("window_time reads Spark's own window")
            if name in self.clauses.unknown and not any(
                place < inside < end for inside in with_aggregate
            ):
                # A function of the user's may be an aggregate; around an aggregate it cannot be.
                raise NotSharedError(f"{written} may be an aggregate of its own")
        for place, token in enumerate(tokens):
            if place in covered or token.start not in self.clauses.columns:
                continue
            around = [written for start, end, written in called if start < place < end]
            if around:
                raise NotSharedError(f"{around[-1]} is not built from slices")
            raise NotSharedError(f"{token.name} is neither a key nor inside an aggregate")
        if star_places(tokens) - covered:
            raise NotSharedError("* stands for columns that are no keys")


# Calls that name the fields of what they make after their arguments.
_NAMING_CALLS = {"struct", "arrays_zip"}


def _is_field(tokens: Span, place: int, stop: int) -> bool:
    """Whether the tokens at `[place, stop)` are an argument that Spark names a field after."""
    around = {kind_at(tokens, place - 1), kind_at(tokens, stop)}
    if not around <= {"L_PAREN", "COMMA", "R_PAREN"}:
        return False
    depth = 0
    for before in range(place - 1, -1, -1):
        depth += (tokens[before].kind == "R_PAREN") - (tokens[before].kind == "L_PAREN")
        if depth < 0:
            caller = tokens[before - 1] if before else None
            if caller is None or not caller.is_name:
                # Brackets without a function are a struct where there are several: `(a, b)`.
                return "COMMA" in around
            return caller.norm in _NAMING_CALLS
    return False
