"""A relation taken apart at its joins: what is joined, and the conditions of each ON."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.errors import TokenError

from muntin.model.sql_text import SqlText
from muntin.sql.filters import conjunction, conjuncts
from muntin.sql.tokens import Span, kind_at, outside, render, tokenize, unbalanced

# Joins that keep rows without a partner, or whose conditions are not written out.
_OTHER_JOINS = frozenset(
    """
    LEFT RIGHT FULL OUTER SEMI ANTI NATURAL USING LATERAL ASOF STRAIGHT_JOIN PIVOT UNPIVOT VIEW
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, kw_only=True)
class JoinText:
    """Relations that are joined by inner joins, and the conjuncts of the ON of each join.

    Relations are text in which a placeholder stands for every table.
    """

    relations: tuple[str, ...]
    conditions: tuple[tuple[str, ...], ...]
    tables: tuple[str, ...]
    placeholders: tuple[str, ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for relations that are the same in the same order, with or without AS."""
        return (self.tables, tuple(_identity(relation) for relation in self.relations))

    @property
    def aliases(self) -> tuple[str | None, ...]:
        """The name of each relation, where its last word is one."""
        last = (tokenize(relation)[-1] for relation in self.relations)
        return tuple(token.name if token.is_name else None for token in last)

    def to_relation(self, conditions: Sequence[Sequence[str]]) -> SqlText:
        """Returns the relation with other conditions in place of its own."""
        text = self.relations[0]
        for relation, parts in zip(self.relations[1:], conditions, strict=True):
            text += f" JOIN {relation} ON {conjunction(parts)}"
        pieces = []
        for placeholder in self.placeholders:
            piece, text = text.split(placeholder, 1)
            pieces.append(piece)
        return SqlText(parts=(*pieces, text), tables=self.tables)


def read_join(source: SqlText) -> JoinText | None:
    """Takes a relation apart; None if it is no join, or not one of inner joins alone.

    Two relations may be joined by a comma or by CROSS JOIN. Among three or more each has its ON.
    """
    mark = "muntin_table_"
    while mark in source.fill():
        mark += "_"
    placeholders = tuple(f"{mark}{index}_" for index in range(len(source.tables)))
    text = source.parts[0] + "".join(
        placeholder + part for placeholder, part in zip(placeholders, source.parts[1:], strict=True)
    )
    try:
        tokens = tokenize(text)
    except TokenError:
        return None
    if unbalanced(tokens) is not None:
        return None
    relations: list[str] = []
    conditions: list[tuple[str, ...]] = []
    starts = _starts(tokens)
    if starts is None:
        return None
    for start, stop in zip(starts, [*starts[1:], len(tokens)], strict=True):
        part = tokens[start:stop]
        while kind_at(part, 0) in {"COMMA", "JOIN", "INNER", "CROSS"}:
            part = part[1:]
        ons = [place for place in outside(part) if part[place].kind == "ON"]
        end = ons[0] if ons else len(part)
        has_condition = bool(ons) and end + 1 < len(part)
        if len(ons) > 1 or not part[:end] or has_condition != bool(ons):
            return None
        if not ons and start and len(starts) > 2:
            return None
        relations.append(render(text, part[:end]))
        conditions.append(conjuncts(render(text, part[end + 1 :])) if ons else ())
    return JoinText(
        relations=tuple(relations),
        conditions=tuple(conditions[1:]),
        tables=source.tables,
        placeholders=placeholders,
    )


def _starts(tokens: Span) -> list[int] | None:
    """Returns where the joined relations begin, with the words that join them; None if some join
    is not an inner one."""
    starts = [0]
    for place in outside(tokens):
        kind = tokens[place].kind
        if kind in _OTHER_JOINS:
            return None
        before = kind_at(tokens, place - 1)
        if kind in {"COMMA", "INNER", "CROSS"} or (
            kind == "JOIN" and before not in {"INNER", "CROSS"}
        ):
            starts.append(place)
    return starts if len(starts) > 1 else None


def _identity(relation: str) -> tuple[str, ...]:
    """Returns the words of a relation, without the AS of its alias."""
    tokens = tokenize(relation)
    optional = {place for place in outside(tokens) if tokens[place].kind == "ALIAS"}
    return tuple(token.name for place, token in enumerate(tokens) if place not in optional)
