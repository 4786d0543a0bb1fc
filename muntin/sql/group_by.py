"""Reads GROUP BY: its keys, its window and its grouping sets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from muntin.model.grouping_sets import GroupingSets, cross_sets, cube, grouping_sets, rollup
from muntin.sql.calls import NAMES, WindowCall, check_row_expression, is_window, read_window
from muntin.sql.clauses import Clauses
from muntin.sql.tokens import NotSharedError, Span, Token, column_name, render

# The name of the window among the keys.
WINDOW = "window"

# Words before a bracket or a name that are neither functions nor columns.
_PREFIXES = {"not", "exists", "interval", "case", "distinct", "all"}

# Tokens that delimit a whole expression, whatever its operators.
_BEFORE = {"", "L_PAREN", "L_BRACKET", "COMMA", "WHEN", "THEN", "ELSE"}
_AFTER = {"", "R_PAREN", "R_BRACKET", "COMMA", "WHEN", "THEN", "ELSE", "END", "ALIAS"}


_KINDS = {"ROLLUP", "CUBE", "GROUPING_SETS"}
# Every set is planned as a query of its own.
MOST_SETS = 64

# Returns the name of a key, by which sets refer to it.
Namer = Callable[[Span], str]


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key. The name of a column is its own; the name of another expression is its text."""

    name: str
    text: str
    tokens: Span

    @property
    def is_column(self) -> bool:
        """Whether it is one column."""
        return len(self.tokens) == 1

    @property
    def field_name(self) -> str | None:
        """Its name as a field of `struct(...)`; None if Spark numbers the field."""
        if self.is_column or (self.tokens[-1].is_name and self.tokens[-2].kind == "DOT"):
            return self.tokens[-1].name
        if [token.kind for token in self.tokens[-3:]] == ["L_BRACKET", "STRING", "R_BRACKET"]:
            return self.tokens[-2].name[1:-1]
        return None


@dataclass(frozen=True, kw_only=True)
class GroupBy:
    """The keys and the window of a query."""

    keys: tuple[Key, ...]
    window: WindowCall
    time: str
    # The names of the keys of each grouping set; None without grouping sets.
    sets: tuple[tuple[str, ...], ...] | None
    # The names of all keys and the window, in Spark's order.
    order: tuple[str, ...]
    # Whether a key refers to the window by its name.
    names_window: bool


def join_qualified_names(tokens: Span, clauses: Clauses) -> Span:
    """Returns the tokens with `r.x` joined into one token `x`, if `r` is the only relation.

    Then `r.x` and `x` are the same column in Spark. But `r.window` is a column, and `window` alone
    is the window.
    """
    folded: list[Token] = []
    place = 0
    while place < len(tokens):
        here = tokens[place]
        after = tokens[place + 1 : place + 3]
        if (
            here.norm == clauses.only_relation
            and here.start in clauses.columns
            and [here.end, *(token.end for token in after[:1])] == [token.start for token in after]
            and after[0].kind == "DOT"
            and after[1].is_name
            and after[1].norm not in NAMES
        ):
            last = after[1]
            here = Token(
                kind="IDENTIFIER", norm=last.norm, name=last.name, start=here.start, end=last.end
            )
            place += 2
        folded.append(here)
        place += 1
    return Span(folded)


def read_group_by(text: str, clauses: Clauses, reserved: frozenset[str]) -> GroupBy:
    """Returns the keys, the window and the grouping sets; new names avoid `reserved`."""
    reader = _Reader(text=text, clauses=clauses, reserved=reserved)
    sets = _read_sets(clauses.group_by, reader.add)
    if len(reader.windows) != 1:
        many = bool(reader.windows)
        raise NotSharedError("two windows in GROUP BY" if many else "no window in GROUP BY")
    ((window, time),) = reader.windows.items()
    keys = tuple(reader.keys.values())
    if sets is None and reader.names_window:
        raise NotSharedError("a window inside the key window")
    if sets is not None:
        _check_sets(sets, keys, window, clauses)
        sets = tuple(tuple(name for name in names if name != WINDOW) for names in sets)
    return GroupBy(
        keys=keys,
        window=window,
        time=time,
        sets=sets,
        order=tuple(dict.fromkeys(reader.order)),
        names_window=reader.names_window,
    )


@dataclass(kw_only=True)
class _Reader:
    """Reads the keys of GROUP BY one by one."""

    text: str
    clauses: Clauses
    reserved: frozenset[str]
    keys: dict[tuple[str, ...], Key] = field(default_factory=dict)
    windows: dict[WindowCall, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    names_window: bool = False

    def add(self, given: Span) -> str:
        """Adds a key and returns its name; `WINDOW` for the window."""
        name = self._name(given)
        self.order.append(name)
        return name

    def _name(self, given: Span) -> str:
        # Brackets around a column or a window mean nothing; around several keys they are a struct.
        bare = given.strip_parentheses()
        is_column = bare[0].start in self.clauses.columns and column_name(bare) is not None
        written = bare if is_column or is_window(bare) else given
        item = _ordinal(written, self.clauses)
        tokens = join_qualified_names(written if item is None else item, self.clauses)
        if is_window(tokens) and tokens.is_bracketed(1):
            self.windows.setdefault(*read_window(self.text, tokens))
            return WINDOW
        if is_column and [token.name for token in tokens] == [WINDOW]:
            # The name refers to the window of a call, unless the source has such a column.
            self.names_window = True
            return WINDOW
        if item is None:
            _check_unambiguous(tokens, self.clauses)
        expression = render(self.text, tokens)
        check_row_expression(tokens, f"the key {expression}")
        if tokens.norms() not in self.keys:
            is_column = len(tokens) == 1 and tokens[0].start in self.clauses.columns
            name = tokens[0].name if is_column else unused_name(expression, self.reserved)
            self.keys[tokens.norms()] = Key(name=name, text=expression, tokens=tokens)
        return self.keys[tokens.norms()].name


def _read_sets(group_by: Span, name: Namer) -> tuple[tuple[str, ...], ...] | None:
    """Returns the names of the keys of each grouping set; None if there are only keys.

    `name` is called once for each key, in Spark's order.
    """
    *others, last = group_by.split_at_commas()
    at = next((at for at in last.top_level_positions() if _is_suffix(last, at)), None)
    if at is not None:
        # `GROUP BY a, b WITH ROLLUP`, or `GROUP BY a, b GROUPING SETS (...)`.
        given = [name(key) for key in (*others, last[:at])]
        kind = last[at + 1].kind if last[at].kind == "WITH" else last[at].kind
        sets = _read_grouping(last[at:], name) if kind == "GROUPING_SETS" else _expand(kind, given)
        _check_set_count(len(sets.sets))
        return sets.sets
    keys = [
        _read_grouping(key, name) if key.kind_at(0) in _KINDS else name(key)
        for key in (*others, last)
    ]
    made = [key for key in keys if isinstance(key, GroupingSets)]
    if not made:
        return None
    _check_set_count(prod(len(key.sets) for key in made))
    return cross_sets(keys)


def _is_suffix(tokens: Span, at: int) -> bool:
    """Whether GROUPING SETS, WITH ROLLUP or WITH CUBE starts at an index, after a key."""
    if tokens[at].kind == "WITH":
        return tokens.kind_at(at + 1) in {"ROLLUP", "CUBE"} and at + 2 == len(tokens)
    return tokens[at].kind == "GROUPING_SETS" and at > 0


def _read_grouping(tokens: Span, name: Namer) -> GroupingSets:
    """Reads `ROLLUP(...)`, `CUBE(...)` or `GROUPING SETS (...)`."""
    kind = tokens[0].kind
    if tokens.kind_at(1) != "L_PAREN" or not tokens.is_bracketed(1) or len(tokens) < 4:
        raise NotSharedError(f"its {tokens[0].name.upper()} is beyond the parser")
    groups = [_group(group, name) for group in tokens[2:-1].split_at_commas()]
    if kind == "GROUPING_SETS":
        return grouping_sets(*groups)
    plain = [group for group in groups if not isinstance(group, GroupingSets)]
    if len(plain) < len(groups):
        raise NotSharedError(f"grouping sets inside {tokens[0].name.upper()}")
    return _expand(kind, plain)


def _expand(kind: str, groups: Sequence[str | Sequence[str]]) -> GroupingSets:
    if kind == "CUBE":
        _check_set_count(2 ** len(groups))
        return cube(*groups)
    return rollup(*groups)


def _group(tokens: Span, name: Namer) -> tuple[str, ...] | GroupingSets:
    """Reads an element of grouping sets: a key, several in brackets, or nested sets."""
    if tokens.kind_at(0) in _KINDS:
        return _read_grouping(tokens, name)
    if tokens.kind_at(0) == "L_PAREN" and tokens.is_bracketed():
        return tuple(name(key) for key in tokens[1:-1].split_at_commas())
    return (name(tokens),)


def _check_set_count(sets: int) -> None:
    if sets > MOST_SETS:
        raise NotSharedError(f"{sets} grouping sets, and at most {MOST_SETS} are shared")


def _check_sets(
    sets: tuple[tuple[str, ...], ...], keys: tuple[Key, ...], window: WindowCall, clauses: Clauses
) -> None:
    """Refuses sets without the window, and keys that may be the same to Spark.

    In grouping sets, one of two equal keys may be null where the other is not.
    """
    if window.name != WINDOW:
        raise NotSharedError("grouping sets of sessions")
    if not all(WINDOW in names for names in sets):
        raise NotSharedError("a grouping set without the window")
    columns = {key.tokens[0].norm for key in keys if key.is_column}
    for index, key in enumerate(keys):
        if not any(token.start in clauses.columns for token in key.tokens):
            raise NotSharedError(f"the constant {key.text} among the keys of grouping sets")
        is_inside = not key.is_column and columns & {*_words(key, clauses)}
        if is_inside or any(_may_be_same(key, other, clauses) for other in keys[:index]):
            raise NotSharedError(f"{key.text} and another key of the grouping sets may be the same")


def _may_be_same(one: Key, other: Key, clauses: Clauses) -> bool:
    """Whether two keys have the same words: in Spark `a * b` is `b * a`, and `r.a` is `a`."""
    if _words(one, clauses) != _words(other, clauses):
        return False
    relations = [
        [token.norm for token in key.tokens if token.start in clauses.columns]
        for key in (one, other)
    ]
    # Columns of different relations differ.
    are_told = all(name in clauses.relations for names in relations for name in names)
    return not are_told or sorted(relations[0]) == sorted(relations[1])


def _words(key: Key, clauses: Clauses) -> list[str]:
    """Returns the sorted names and literals of a key, without names of relations."""
    return sorted(
        token.norm.strip("'\"")
        for token in key.tokens
        if (token.is_name or token.kind.endswith("STRING") or token.kind == "NUMBER")
        and token.norm not in clauses.relations
    )


def unused_name(name: str, reserved: frozenset[str]) -> str:
    """Returns a name with underscores added until it is not reserved."""
    while name.lower() in reserved:
        name += "_"
    return name


def is_key_at(key: Key, tokens: Span, place: int, clauses: Clauses) -> bool:
    """Whether the expression of a key starts at an index.

    `a + b * 2` does not contain `a + b`: a key with operators must be between delimiters.
    """
    stop = place + len(key.tokens)
    if tokens[place:stop].norms() != key.tokens.norms() or tokens.kind_at(place - 1) == "DOT":
        return False
    if not any(token.start in clauses.columns for token in key.tokens):
        # A constant needs no replacement, and some functions need a literal.
        return False
    if not _is_primary(key.tokens):
        return tokens.kind_at(place - 1) in _BEFORE and tokens.kind_at(stop) in _AFTER
    first = tokens[place]
    if key.tokens.kind_at(1) == "L_PAREN":
        return True
    # `INTERVAL 1 DAY` is not the column `day`, and `a.x` is not `a` if `a` is a table.
    is_table = len(key.tokens) == 1 and first.norm in clauses.relations
    return first.start in clauses.columns and not (is_table and tokens.kind_at(stop) == "DOT")


def _ordinal(tokens: Span, clauses: Clauses) -> Span | None:
    """Returns the item of SELECT that `GROUP BY 1` refers to."""
    inside = tokens.strip_parentheses()
    if len(inside) != 1 or not inside[0].norm.isdecimal():
        return None
    position = int(inside[0].norm)
    if not 1 <= position <= len(clauses.items):
        raise NotSharedError(f"GROUP BY {position} has no item to stand for")
    return clauses.items[position - 1].tokens


def _check_unambiguous(tokens: Span, clauses: Clauses) -> None:
    """Refuses a name that may be a column or an item of SELECT, depending on the schema."""
    if len(tokens) != 1 or not tokens[0].is_name:
        return
    name = tokens[0].norm
    unclear = "(" in name
    for item in clauses.items:
        expression = join_qualified_names(item.tokens, clauses)
        called = item.alias or column_name(expression)
        unclear |= called is not None and called.lower() == name and expression.norms() != (name,)
    if unclear:
        raise NotSharedError(
            f"GROUP BY {tokens[0].name} may mean a column or an item of SELECT; write the "
            f"expression itself"
        )


def _is_primary(tokens: Span) -> bool:
    """Whether an expression has no operators outside brackets: `s.x`, `m['k']`, `f(a + b).x`."""
    place = 0
    while place < len(tokens):
        if not tokens[place].is_name or tokens[place].norm in _PREFIXES:
            return False
        place += 1
        while tokens.kind_at(place) in {"L_PAREN", "L_BRACKET"}:
            place = tokens.closing_position(place) + 1
        if place == len(tokens):
            return True
        if tokens[place].kind != "DOT":
            return False
        place += 1
    return False
