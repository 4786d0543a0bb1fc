"""Replaces the columns in an item of SELECT by their expressions."""

from collections.abc import Callable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.sql.functions import NO_FUNCTIONS
from muntin.sql.tokens import DIALECT, Replacement, calls, render, tokenize

_SELECT = "SELECT "


@dataclass(frozen=True, kw_only=True)
class SelectItem:
    """An item of SELECT without its alias, and whether it had one."""

    text: str
    has_alias: bool


def replace_columns(text: str, meaning: Callable[[str], str]) -> SelectItem | None:
    """Returns an item of SELECT with the meaning of each column in the place of its name.

    None if it cannot be read, or has a subquery.

    >>> replace_columns("a.b + max(c) AS d", {"a": "x", "c": "(y + 1)"}.__getitem__)
    SelectItem(text='x.b + max((y + 1))', has_alias=True)
    """
    whole = _SELECT + text
    try:
        tree = sqlglot.parse_one(whole, read=DIALECT)
        tokens = tokenize(whole)
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    if any(value for part, value in tree.args.items() if part != "expressions"):
        return None
    (item,) = tree.expressions
    if list(item.find_all(exp.Query)):
        return None
    inside = tokens[1:]
    if isinstance(item, exp.Alias):
        if inside[-1].start != item.args["alias"].meta.get("start"):
            return None
        inside = inside[:-1]
        inside = inside[:-1] if inside[-1].kind == "ALIAS" else inside
    starts = {column.parts[0].meta.get("start") for column in item.find_all(exp.Column)}
    if None in starts:
        return None
    replacements = {
        place: Replacement(stop=place + 1, text=meaning(token.name))
        for place, token in enumerate(inside)
        if token.start in starts
    }
    return SelectItem(
        text=render(whole, inside, replacements), has_alias=isinstance(item, exp.Alias)
    )


def called_functions(text: str) -> set[str]:
    """Returns the functions that an expression calls, in lower case."""
    return {name for _, name in calls(tokenize(text))} - NO_FUNCTIONS
