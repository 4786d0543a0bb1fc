"""`widen_joins`: lets queries over one join with different time bounds read one wider join.

These are the joins of one signature of Subsumption, section 4: the same streams and predicates,
matched within different times. Pairs within an hour are among those within a day, so the day's join
is computed once, and the hour becomes a filter of its query.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from sqlglot.errors import TokenError

from muntin.model.query import PlainQuery, Query
from muntin.sql.filters import canonical_key, conjunction, conjuncts, is_reference
from muntin.sql.time_bounds import TimeBound, orient_bounds, read_bounds
from muntin.sql.tokens import Span, render, tokenize
from muntin.sql_text import SqlText, collapse_spaces, name_parts

# Joins that keep rows without a partner, or without an ON condition.
_OTHER_JOINS = frozenset(
    """
    LEFT RIGHT FULL OUTER SEMI ANTI NATURAL USING LATERAL ASOF STRAIGHT_JOIN PIVOT UNPIVOT VIEW
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, kw_only=True)
class JoinText:
    """Relations of inner joins, and the conjuncts of the ON of each join.

    In the text of relations, placeholders replace the tables.
    """

    relations: tuple[str, ...]
    conditions: tuple[tuple[str, ...], ...]
    tables: tuple[str, ...]
    placeholders: tuple[str, ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for the same relations in the same order, with or without AS."""
        return (self.tables, tuple(_identity(relation) for relation in self.relations))

    @property
    def aliases(self) -> tuple[str | None, ...]:
        """The name of each relation, if its last word is a name."""
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
    """Splits a relation at its joins; None if there is no join, or one that is not inner.

    Two relations may be joined by a comma or by CROSS JOIN. With three or more, each needs an ON.
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
    if tokens.unbalanced_bracket() is not None:
        return None
    relations: list[str] = []
    conditions: list[tuple[str, ...]] = []
    starts = _starts(tokens)
    if starts is None:
        return None
    for start, stop in zip(starts, [*starts[1:], len(tokens)], strict=True):
        part = tokens[start:stop]
        while part.kind_at(0) in {"COMMA", "JOIN", "INNER", "CROSS"}:
            part = part[1:]
        ons = part.find_top_level("ON")
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
    """Returns the indexes at which joins start; None if there is none, or one that is not inner."""
    starts = [0]
    for place in tokens.top_level_positions():
        kind = tokens[place].kind
        if kind in _OTHER_JOINS:
            return None
        before = tokens.kind_at(place - 1)
        if kind in {"COMMA", "INNER", "CROSS"} or (
            kind == "JOIN" and before not in {"INNER", "CROSS"}
        ):
            starts.append(place)
    return starts if len(starts) > 1 else None


def _identity(relation: str) -> tuple[str, ...]:
    """Returns the words of a relation without the AS of its alias."""
    tokens = tokenize(relation)
    optional = tokens.find_top_level("ALIAS")
    return tuple(token.name for place, token in enumerate(tokens) if place not in optional)


@dataclass(frozen=True, kw_only=True)
class _BoundedJoin:
    """A query's join, with time bounds separate from other conditions."""

    join: JoinText
    # The conjuncts of each ON, without bounds.
    conditions: tuple[tuple[str, ...], ...]
    # Conjuncts of ON that are bounds.
    bounds_on: tuple[str, ...]
    # The conjuncts of WHERE, including bounds.
    where: tuple[str, ...]
    bounds: Mapping[str, tuple[TimeBound, ...]]

    @property
    def signature(self) -> tuple[object, ...]:
        """Joins with the same signature can become one."""
        return (
            self.join.identity,
            tuple(canonical_key(conjunction(parts)) for parts in self.conditions),
            frozenset(bound.side for bounds in self.bounds.values() for bound in bounds),
        )


def widen_joins(queries: Iterable[Query | PlainQuery]) -> tuple[Query | PlainQuery, ...]:
    """Returns the queries; joins of one signature are replaced by one join with the widest bounds.

    Each query keeps its own bounds in its filter, so its answer stays the same. A signature is the
    joined relations, the conditions of ON other than the bounds, the times that are bounded from
    each side, and the time of the windows.

    These joins are not changed: outer, semi and anti joins, where a pair that a filter drops would
    have left a row without a partner; USING and NATURAL; joins with bounds in months and years, or
    bounds that are no literals; joins under data windows; and joins of one query only.
    """
    given = tuple(queries)
    groups: dict[tuple[object, ...], dict[str, _BoundedJoin]] = {}
    for query in given:
        bounded = _read(query) if isinstance(query, Query) and query.is_periodic else None
        if bounded is not None and isinstance(query, Query):
            key = (collapse_spaces(query.time), *bounded.signature)
            groups.setdefault(key, {})[query.name] = bounded
    wider: dict[str, tuple[SqlText, str | None]] = {}
    for group in groups.values():
        if not _is_one_relation(group.values()):
            wider |= _widen(group)
    return tuple(
        replace(query, relation=wider[query.name][0], where=wider[query.name][1])
        if isinstance(query, Query) and query.name in wider
        else query
        for query in given
    )


def _is_one_relation(group: Collection[_BoundedJoin]) -> bool:
    """Whether there is nothing to widen: all bounds are in ON, and are the same."""
    in_on = all(bounded.bounds.keys() <= {*bounded.bounds_on} for bounded in group)
    return len(group) == 1 or (in_on and len({bounded.join for bounded in group}) == 1)


def _widen(group: Mapping[str, _BoundedJoin]) -> dict[str, tuple[SqlText, str | None]]:
    """Returns the common relation and the filter of each query over it."""
    first = next(iter(group.values()))
    widest = _widest_bounds([bounded.bounds for bounded in group.values()])
    texts = (" OR ".join(bound.to_sql() for bound in alternatives) for alternatives in widest)
    *before, last = first.conditions
    relation = first.join.to_relation([*before, tuple(dict.fromkeys((*last, *texts)))])
    return {name: (relation, _filter(bounded, widest)) for name, bounded in group.items()}


def _filter(bounded: _BoundedJoin, widest: Sequence[Sequence[TimeBound]]) -> str | None:
    """Returns a query's filter without the bounds that the join implies."""
    joined = [alternatives[0] for alternatives in widest if len(alternatives) == 1]
    kept = []
    for part in (*bounded.bounds_on, *bounded.where):
        implied = all(
            any(own.side == wide.side and own.covers(wide) for wide in joined)
            for own in bounded.bounds.get(part, ())
        )
        if part not in bounded.bounds or not implied:
            kept.append(part)
    return conjunction(kept) if kept else None


def _widest_bounds(members: Iterable[Mapping[str, tuple[TimeBound, ...]]]) -> list[list[TimeBound]]:
    """Returns alternative bounds for each side, of which every member passes one.

    If a member bounds a side twice, the tighter bound counts.
    """
    sides: dict[tuple[object, ...], list[TimeBound]] = {}
    for member in members:
        tightest: dict[tuple[object, ...], TimeBound] = {}
        for bound in chain.from_iterable(member.values()):
            known = tightest.setdefault(bound.side, bound)
            if bound.looseness < known.looseness:
                tightest[bound.side] = bound
        for side, bound in tightest.items():
            sides.setdefault(side, []).append(bound)
    return [_loosest_bounds(bounds) for bounds in sides.values()]


def _loosest_bounds(bounds: Iterable[TimeBound]) -> list[TimeBound]:
    """Returns the bounds that no other bound covers, the loosest first."""
    kept: list[TimeBound] = []
    for bound in sorted(bounds, key=lambda bound: (-bound.looseness, "=" not in bound.operator)):
        if not any(other.covers(bound) for other in kept):
            kept.append(bound)
    return kept


def _read(query: Query) -> _BoundedJoin | None:
    """Returns the join of a query; None if it is no inner join with time bounds."""
    join = read_join(query.source)
    if join is None:
        return None
    where = conjuncts(query.where or "")
    read = {
        part: _bounds_of(part, join) for part in (*chain.from_iterable(join.conditions), *where)
    }
    # `a.x < b.x` is a bound only if another bound of these times has an interval.
    bounded = {
        bound.times for bound in chain.from_iterable(read.values()) if bound.interval is not None
    }
    read = {
        part: bounds
        for part, bounds in read.items()
        if bounds and all(bound.times in bounded for bound in bounds)
    }
    if not read:
        return None
    conditions = [tuple(part for part in on if part not in read) for on in join.conditions]
    if len(conditions) == 1 and not any(map(_is_match, conditions[0])):
        # The join of `a, b WHERE a.id = b.id` must not become a join of all pairs.
        moved = tuple(part for part in where if _is_match(part))
        conditions = [(*conditions[0], *moved)]
        where = tuple(part for part in where if part not in moved)
    in_order = iter(orient_bounds([bound for bounds in read.values() for bound in bounds]))
    return _BoundedJoin(
        join=join,
        conditions=tuple(conditions),
        bounds_on=tuple(part for on in join.conditions for part in on if part in read),
        where=where,
        bounds={part: tuple(islice(in_order, len(bounds))) for part, bounds in read.items()},
    )


def _bounds_of(part: str, join: JoinText) -> tuple[TimeBound, ...]:
    """Returns the bounds of a conjunct that mean the same in every ON and in WHERE."""
    bounds = read_bounds(part)
    if len(join.relations) > 2:
        # The ON of an earlier join has fewer columns, and a name may be ambiguous in a later one.
        times = {time for bound in bounds for time in (bound.later, bound.earlier)}
        named = {name_parts(time)[0] for time in times if len(name_parts(time)) > 1}
        if len(named) < len(times) or not named <= {*join.aliases}:
            return ()
    return bounds


def _is_match(part: str) -> bool:
    """Whether a conjunct is an equality of two columns."""
    try:
        tokens = tokenize(part)
    except TokenError:
        return False
    places = tokens.find_top_level("EQ")
    if len(places) != 1:
        return False
    start, stop = tokens[places[0]].start, tokens[places[0]].end
    return is_reference(part[:start]) and is_reference(part[stop:])
