"""ORDER BY, SORT BY, LIMIT and OFFSET: how Spark orders an answer, and how much of it it gives."""

from collections.abc import Mapping, Sequence

from muntin.sql.projection import Projection
from muntin.sql.tokens import NotSharedError, Span, norms, render, split, unwrapped

_DIRECTIONS = {("asc",), ("desc",)}
_NULLS = {("nulls", "first"), ("nulls", "last")}


def read_ending(
    projection: Projection, items: Sequence[str], aliases: Mapping[str, str | None]
) -> str | None:
    """Returns what a statement ends with, over key names, `window` and aggregate names.

    `items` are the expressions of SELECT over these names, and `aliases` has them by name. None
    means that the answer has no order and no limit.
    """
    clauses = []
    for word, tokens in projection.clauses.ending.items():
        if word.endswith("BY"):
            found = [_order(item, projection, items, aliases) for item in split(tokens)]
            orders = [each for some in found for each in some]
            clauses += [f"{word} {', '.join(orders)}"] if orders else []
        elif len(tokens) == 1 and (tokens[0].norm == "all" or tokens[0].norm.isdecimal()):
            clauses.append(f"{word} {tokens[0].norm}")
        else:
            raise NotSharedError(f"{word} {render(projection.text, tokens)}")
    return " ".join(clauses) or None


def _order(
    tokens: Span,
    projection: Projection,
    items: Sequence[str],
    aliases: Mapping[str, str | None],
) -> list[str]:
    """Returns what an item of ORDER BY orders by: nothing if it is a constant."""
    stop = len(tokens)
    stop -= 2 * (norms(tokens[stop - 2 : stop]) in _NULLS and stop > 2)
    stop -= norms(tokens[stop - 1 : stop]) in _DIRECTIONS and stop > 1
    how = "".join(f" {word.upper()}" for word in norms(tokens[stop:]))
    expression = unwrapped(tokens[:stop])
    if norms(expression) == ("all",) and "all" not in aliases:
        texts = list(items)
    elif len(expression) == 1 and expression[0].norm.isdecimal():
        place = int(expression[0].norm)
        if not 1 <= place <= len(items):
            raise NotSharedError(f"ORDER BY {place} has no item to stand for")
        texts = [items[place - 1]]
    else:
        texts = [projection.rewrite(expression, aliases, items_first=True)]
    # A number would be the place of an item.
    return [f"{text}{how}" for text in texts if not text.strip("() ").isdecimal()]
