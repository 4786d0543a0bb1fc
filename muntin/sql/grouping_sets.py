"""Reads ROLLUP, CUBE and GROUPING SETS in GROUP BY."""

from collections.abc import Callable, Sequence
from math import prod

from muntin.model.grouping_sets import GroupingSets, crossed, cube, grouping_sets, rollup
from muntin.sql.tokens import NotSharedError, Span

_KINDS = {"ROLLUP", "CUBE", "GROUPING_SETS"}
# Every set is planned as a query of its own.
MOST_SETS = 64

# Returns the name of a key, by which sets refer to it.
Namer = Callable[[Span], str]


def read_sets(group_by: Span, name: Namer) -> tuple[tuple[str, ...], ...] | None:
    """Returns the names of the keys of each grouping set; None if there are only keys.

    `name` is called once for each key, in Spark's order.
    """
    *others, last = group_by.split_at_commas()
    at = next((at for at in last.top_level_positions() if _is_suffix(last, at)), None)
    if at is not None:
        # `GROUP BY a, b WITH ROLLUP`, or `GROUP BY a, b GROUPING SETS (...)`.
        given = [name(key) for key in (*others, last[:at])]
        kind = last[at + 1].kind if last[at].kind == "WITH" else last[at].kind
        sets = _read(last[at:], name) if kind == "GROUPING_SETS" else _expand(kind, given)
        _check_few(len(sets.sets))
        return sets.sets
    keys = [_read(key, name) if key.kind_at(0) in _KINDS else name(key) for key in (*others, last)]
    made = [key for key in keys if isinstance(key, GroupingSets)]
    if not made:
        return None
    _check_few(prod(len(key.sets) for key in made))
    return crossed(keys)


def _is_suffix(tokens: Span, at: int) -> bool:
    """Whether GROUPING SETS, WITH ROLLUP or WITH CUBE starts at an index, after a key."""
    if tokens[at].kind == "WITH":
        return tokens.kind_at(at + 1) in {"ROLLUP", "CUBE"} and at + 2 == len(tokens)
    return tokens[at].kind == "GROUPING_SETS" and at > 0


def _read(tokens: Span, name: Namer) -> GroupingSets:
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
        _check_few(2 ** len(groups))
        return cube(*groups)
    return rollup(*groups)


def _group(tokens: Span, name: Namer) -> tuple[str, ...] | GroupingSets:
    """Reads an element of grouping sets: a key, several in brackets, or nested sets."""
    if tokens.kind_at(0) in _KINDS:
        return _read(tokens, name)
    if tokens.kind_at(0) == "L_PAREN" and tokens.is_bracketed():
        return tuple(name(key) for key in tokens[1:-1].split_at_commas())
    return (name(tokens),)


def _check_few(sets: int) -> None:
    if sets > MOST_SETS:
        raise NotSharedError(f"{sets} grouping sets, and at most {MOST_SETS} are shared")
