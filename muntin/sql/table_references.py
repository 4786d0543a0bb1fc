"""Finds the tables that a statement reads, so that DataFrames can take their places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from muntin.sql.tokens import Span, render, tokenize
from muntin.sql_text import SqlText, quote_name

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")

# What may follow a table without an alias, so that an alias can be inserted.
_CLAUSES = "WHERE GROUP_BY HAVING ORDER_BY SORT_BY CLUSTER_BY DISTRIBUTE_BY LIMIT OFFSET WINDOW"
_JOINS = "ON USING JOIN INNER LEFT RIGHT FULL CROSS OUTER SEMI ANTI NATURAL LATERAL PIVOT UNPIVOT"
_OTHERS = "R_PAREN COMMA UNION INTERSECT EXCEPT QUALIFY SELECT PIPE_GT"
_AFTER_TABLE = {"", *_CLAUSES.split(), *_JOINS.split(), *_OTHERS.split()}


@dataclass(frozen=True, kw_only=True)
class TableReference:
    """A table's name at `[start, end)` of a statement, and the alias to insert at a position."""

    table: str
    start: int
    end: int
    alias: str
    alias_at: int | None


def statement_text(
    text: str, references: list[TableReference], start: int = 0, end: int | None = None
) -> SqlText:
    """Returns the text `[start, end)` of a statement with its tables as parameters.

    A table without an alias gets its last name as one, so that `t.x` still means its column when a
    DataFrame takes its place. `references` are those in this text, in order.
    """
    parts = [""]
    for each in references:
        parts[-1] += text[start : each.start]
        parts.append("")
        start = each.end
        if each.alias_at is not None:
            parts[-1] += f"{text[start : each.alias_at]} AS {quote_name(each.alias)}"
            start = each.alias_at
    parts[-1] += text[start:end]
    return SqlText(parts=tuple(parts), tables=tuple(each.table for each in references))


def relation_text(text: str, relation: Span, references: list[TableReference]) -> SqlText:
    """Returns the relation after FROM with its tables as parameters, in one spelling."""
    start, end = relation[0].start, relation[-1].end
    inside = [each for each in references if start <= each.start < end]
    cut = statement_text(text, inside, start, end)
    return SqlText(parts=tuple(_squeeze(part) for part in cut.parts), tables=cut.tables)


def find_tables(tokens: Span, tree: exp.Expr) -> list[TableReference]:
    """Returns the tables that a statement reads, in order, without its CTEs, files and table
    functions."""
    places = {token.start: place for place, token in enumerate(tokens)}
    # By position, because sqlglot repeats the table of a pipe in its tree.
    references: dict[int, TableReference] = {}
    for table in tree.find_all(exp.Table):
        parts = [places.get(part.meta.get("start", -1)) for part in table.parts]
        first, last = parts[0], parts[-1]
        # Hints name tables, too; `range(10)` is a function; `t VERSION AS OF 1` is no DataFrame.
        if first is None or last is None or table.find_ancestor(exp.Hint):
            continue
        if not isinstance(table.parts[-1], exp.Identifier) or table.args.get("version"):
            continue
        if first == last and tokens[first].norm in set(_ctes_in_sight(table)):
            continue
        reference = _table_reference(tokens, first, last, aliased=bool(table.alias))
        if reference is not None:
            references[reference.start] = reference
    return [references[start] for start in sorted(references)]


def guess_tables(tokens: Span) -> list[TableReference]:
    """Returns the tables right after FROM and JOIN, for a statement without a syntax tree."""
    ctes = {
        token.norm
        for place, token in enumerate(tokens)
        if tokens.kind_at(place + 1) == "ALIAS" and tokens.kind_at(place + 2) == "L_PAREN"
    }
    references = []
    opened: list[str] = ["SELECT"]
    for place, token in enumerate(tokens):
        if token.kind == "L_PAREN":
            opened.append(tokens.kind_at(place + 1))
        elif token.kind == "R_PAREN" and len(opened) > 1:
            opened.pop()
        # Not `extract(day FROM ts)`, nor `x IS DISTINCT FROM y`.
        reads = token.kind == "JOIN" or (
            token.kind == "FROM"
            and opened[-1] in {"SELECT", "FROM", "WITH"}
            and tokens.kind_at(place - 1) not in {"DISTINCT", "DOT"}
        )
        first = last = place + 1
        if not reads or first >= len(tokens) or not tokens[first].is_name:
            continue
        while tokens.kind_at(last + 1) == "DOT" and last + 2 < len(tokens):
            last += 2
        if tokens.kind_at(last + 1) != "L_PAREN" and not (
            first == last and tokens[first].norm in ctes
        ):
            reference = _table_reference(tokens, first, last, aliased=False)
            references += [reference] if reference else []
    return references


def _squeeze(part: str) -> str:
    tokens = tokenize(part)
    if not tokens:
        return " " if part else ""
    before = " " if tokens[0].start > 0 else ""
    after = " " if tokens[-1].end < len(part) else ""
    return before + render(part, tokens) + after


def _table_reference(
    tokens: Span, first: int, last: int, *, aliased: bool
) -> TableReference | None:
    """Returns the table at the tokens `[first, last]`; None if no DataFrame can take its place."""
    names = [token.name for token in tokens[first : last + 1 : 2]]
    # parquet.`/data/readings` reads files, and `STREAM t` is not a table called stream.
    is_file = any("/" in name for name in names)
    is_stream = names == [tokens[first].name] and tokens[first].norm == "stream" and aliased
    if is_file or is_stream or _named_in_full(tokens, last):
        return None
    after = _after_sample(tokens, last)
    bare = not aliased and tokens.kind_at(after + 1) in _AFTER_TABLE
    return TableReference(
        table=".".join(_display_name(name) for name in names),
        start=tokens[first].start,
        end=tokens[last].end,
        alias=names[-1],
        alias_at=tokens[after].end if bare else None,
    )


def _display_name(name: str) -> str:
    """Returns a part of a table's name, in backquotes only if Spark needs them."""
    plain = _PLAIN_NAME.fullmatch(name) and [token.kind for token in tokenize(name)] == ["VAR"]
    return name if plain else quote_name(name)


def _named_in_full(tokens: Span, last: int) -> bool:
    """Whether a column is written as `db.t.x`, which an alias of `db.t` would hide."""
    if tokens.kind_at(last - 1) != "DOT":
        return False
    every = tokens.norms()
    wanted = (*every[last - 2 : last + 1], ".")
    return any(every[place : place + 4] == wanted for place in range(len(every)))


def _after_sample(tokens: Span, last: int) -> int:
    """Returns the last token of a table with its TABLESAMPLE, after which an alias may follow."""
    if tokens.kind_at(last + 1) != "TABLE_SAMPLE" or tokens.kind_at(last + 2) != "L_PAREN":
        return last
    end = tokens.closing_position(last + 2)
    if tokens.kind_at(end + 2) == "L_PAREN" and tokens[end + 1].norm == "repeatable":
        end = tokens.closing_position(end + 2)
    return end


def _ctes_in_sight(node: exp.Expr) -> Iterator[str]:
    """Yields the CTEs that a name may refer to; a CTE sees itself only if it is recursive."""
    inside: exp.CTE | None = None
    above: exp.Expr | None = node
    while above is not None:
        if isinstance(above, exp.CTE):
            inside = above
        clause = above.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                if cte is inside and not clause.recursive:
                    break
                yield cte.alias.lower()
        above = above.parent
