"""ROLLUP, CUBE and GROUPING SETS in GROUP BY: which keys each set has."""

from collections.abc import Callable, Sequence
from math import prod

from muntin.model.grouping_sets import GroupingSets, crossed, cube, grouping_sets, rollup
from muntin.sql.tokens import NotSharedError, Span, closing, kind_at, outside, split

_KINDS = {"ROLLUP", "CUBE", "GROUPING_SETS"}
# Every set is planned as a query of its own.
MOST_SETS = 64

# Gives a key its name, by which sets refer to it.
Namer = Callable[[Span], str]


def read_sets(group_by: Span, name: Namer) -> tuple[tuple[str, ...], ...] | None:
    """Names all keys of GROUP BY, in Spark's order, and returns those of each grouping set.

    None means that there are no grouping sets, but only keys.
    """
    *others, last = split(group_by)
    at = next((at for at in outside(last) if _follows(last, at)), None)
    if at is not None:
        # `GROUP BY a, b WITH ROLLUP`, or `GROUP BY a, b GROUPING SETS (...)`.
        given = [name(key) for key in (*others, last[:at])]
        kind = last[at + 1].kind if last[at].kind == "WITH" else last[at].kind
        sets = _read(last[at:], name) if kind == "GROUPING_SETS" else _made(kind, given)
        _check_few(len(sets.sets))
        return sets.sets
    keys = [_read(key, name) if kind_at(key, 0) in _KINDS else name(key) for key in (*others, last)]
    made = [key for key in keys if isinstance(key, GroupingSets)]
    if not made:
        return None
    _check_few(prod(len(key.sets) for key in made))
    return crossed(keys)


def _follows(tokens: Span, at: int) -> bool:
    """Whether GROUPING SETS, WITH ROLLUP or WITH CUBE stands behind a key."""
    if tokens[at].kind == "WITH":
        return kind_at(tokens, at + 1) in {"ROLLUP", "CUBE"} and at + 2 == len(tokens)
    return tokens[at].kind == "GROUPING_SETS" and at > 0


def _read(tokens: Span, name: Namer) -> GroupingSets:
    """Reads `ROLLUP(...)`, `CUBE(...)` or `GROUPING SETS (...)`."""
    kind = tokens[0].kind
    if kind_at(tokens, 1) != "L_PAREN" or closing(tokens, 1) != len(tokens) - 1 or len(tokens) < 4:
        raise NotSharedError(f"its {tokens[0].name.upper()} is beyond the parser")
    groups = [_group(group, name) for group in split(tokens[2:-1])]
    if kind == "GROUPING_SETS":
        return grouping_sets(*groups)
    plain = [group for group in groups if not isinstance(group, GroupingSets)]
    if len(plain) < len(groups):
        raise NotSharedError(f"grouping sets inside {tokens[0].name.upper()}")
    return _made(kind, plain)


def _made(kind: str, groups: Sequence[str | Sequence[str]]) -> GroupingSets:
    if kind == "CUBE":
        _check_few(2 ** len(groups))
        return cube(*groups)
    return rollup(*groups)


def _group(tokens: Span, name: Namer) -> tuple[str, ...] | GroupingSets:
    """Reads keys that come and go together: one, several in brackets, or sets of their own."""
    if kind_at(tokens, 0) in _KINDS:
        return _read(tokens, name)
    if kind_at(tokens, 0) == "L_PAREN" and closing(tokens, 0) == len(tokens) - 1:
        return tuple(name(key) for key in split(tokens[1:-1]))
    return (name(tokens),)


def _check_few(sets: int) -> None:
    """Refuse too many sets before they are made."""
    if sets > MOST_SETS:
        raise NotSharedError(f"{sets} grouping sets, and at most {MOST_SETS} are shared")
