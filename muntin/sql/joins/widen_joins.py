"""`widen_joins`: queries over one join with different time bounds read one wider join.

These are the joins of one signature of Subsumption, section 4: the same streams and the same
predicates, matched within windows of different lengths. The pairs within an hour are among those
within a day, so the day's join is made once, and the hour becomes a filter of its query.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from sqlglot.errors import TokenError

from muntin.model.query import PlainQuery, Query
from muntin.model.sql_text import SqlText, name_parts, squeeze
from muntin.sql.filters import canonical, conjunction, conjuncts, is_reference
from muntin.sql.joins.join_text import JoinText, read_join
from muntin.sql.joins.time_bounds import TimeBound, oriented, read_bounds
from muntin.sql.tokens import kind_at, outside, tokenize


@dataclass(frozen=True, kw_only=True)
class _BoundedJoin:
    """A query's join, its conditions without time bounds, and the bounds by their text."""

    join: JoinText
    # The conjuncts of each ON, without bounds.
    conditions: tuple[tuple[str, ...], ...]
    # Bounds that stand in ON, as they are written.
    bounds_on: tuple[str, ...]
    # The conjuncts of WHERE, bounds included.
    where: tuple[str, ...]
    bounds: Mapping[str, tuple[TimeBound, ...]]

    @property
    def signature(self) -> tuple[object, ...]:
        """What joins must have in common to become one."""
        return (
            self.join.identity,
            tuple(canonical(conjunction(parts)) for parts in self.conditions),
            frozenset(bound.side for bounds in self.bounds.values() for bound in bounds),
        )


def widen_joins(queries: Iterable[Query | PlainQuery]) -> tuple[Query | PlainQuery, ...]:
    """Returns the queries, those over joins of one signature with one relation of widest bounds.

    Each keeps its own bounds as part of its filter, so it means what it meant. A signature is the
    joined relations, the conditions of ON other than the bounds, and which times are bounded from
    which sides; the time of the windows must be the same, too.

    Left alone are outer, semi and anti joins, for a pair that a filter drops would have left a row
    without a partner; USING and NATURAL; bounds in months and years, which have no fixed length,
    and bounds that are no literals; queries with data windows; and joins that no other query has.
    """
    given = tuple(queries)
    groups: dict[tuple[object, ...], dict[str, _BoundedJoin]] = {}
    for query in given:
        bounded = _read(query) if isinstance(query, Query) and query.is_periodic else None
        if bounded is not None and isinstance(query, Query):
            key = (squeeze(query.time), *bounded.signature)
            groups.setdefault(key, {})[query.name] = bounded
    wider: dict[str, tuple[SqlText, str | None]] = {}
    for group in groups.values():
        if not _is_one_relation(group.values()):
            wider |= _widened(group)
    return tuple(
        replace(query, relation=wider[query.name][0], where=wider[query.name][1])
        if isinstance(query, Query) and query.name in wider
        else query
        for query in given
    )


def _is_one_relation(group: Collection[_BoundedJoin]) -> bool:
    """Whether there is nothing to widen: all bounds stand in ON, and are the same."""
    in_on = all(bounded.bounds.keys() <= {*bounded.bounds_on} for bounded in group)
    return len(group) == 1 or (in_on and len({bounded.join for bounded in group}) == 1)


def _widened(group: Mapping[str, _BoundedJoin]) -> dict[str, tuple[SqlText, str | None]]:
    """Returns the one relation of joins of one signature, and the filter of each query over it."""
    first = next(iter(group.values()))
    widest = _widest([bounded.bounds for bounded in group.values()])
    texts = (" OR ".join(bound.to_sql() for bound in alternatives) for alternatives in widest)
    *before, last = first.conditions
    relation = first.join.to_relation([*before, tuple(dict.fromkeys((*last, *texts)))])
    return {name: (relation, _filter(bounded, widest)) for name, bounded in group.items()}


def _filter(bounded: _BoundedJoin, widest: Sequence[Sequence[TimeBound]]) -> str | None:
    """Returns what is left of a query's filter, without the bounds that the join implies."""
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


def _widest(members: Iterable[Mapping[str, tuple[TimeBound, ...]]]) -> list[list[TimeBound]]:
    """For each bounded side, the bounds of which every member passes one; one where it covers all.

    A member may bound a side twice; the tighter bound is the one that counts.
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
    return [_uncovered(bounds) for bounds in sides.values()]


def _uncovered(bounds: Iterable[TimeBound]) -> list[TimeBound]:
    """Returns the bounds that no other one covers, the loosest first."""
    kept: list[TimeBound] = []
    for bound in sorted(bounds, key=lambda bound: (-bound.looseness, "=" not in bound.operator)):
        if not any(other.covers(bound) for other in kept):
            kept.append(bound)
    return kept


def _read(query: Query) -> _BoundedJoin | None:
    """Takes a query's join and filter apart; None if it is no inner join with time bounds."""
    join = read_join(query.source)
    if join is None:
        return None
    where = conjuncts(query.where or "")
    read = {
        part: _bounds_of(part, join) for part in (*chain.from_iterable(join.conditions), *where)
    }
    # Without an interval, `a.x < b.x` compares anything; it counts where another bound has one.
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
        # The join of `a, b WHERE a.id = b.id` must not become one of all pairs.
        moved = tuple(part for part in where if _is_match(part))
        conditions = [(*conditions[0], *moved)]
        where = tuple(part for part in where if part not in moved)
    in_order = iter(oriented([bound for bounds in read.values() for bound in bounds]))
    return _BoundedJoin(
        join=join,
        conditions=tuple(conditions),
        bounds_on=tuple(part for on in join.conditions for part in on if part in read),
        where=where,
        bounds={part: tuple(islice(in_order, len(bounds))) for part, bounds in read.items()},
    )


def _bounds_of(part: str, join: JoinText) -> tuple[TimeBound, ...]:
    """Returns the bounds of a conjunct that mean the same in any ON and in WHERE."""
    bounds = read_bounds(part)
    if len(join.relations) > 2:
        # An ON sees fewer columns than the last one, and a name may be ambiguous there.
        times = {time for bound in bounds for time in (bound.later, bound.earlier)}
        named = {name_parts(time)[0] for time in times if len(name_parts(time)) > 1}
        if len(named) < len(times) or not named <= {*join.aliases}:
            return ()
    return bounds


def _is_match(part: str) -> bool:
    """Whether a conjunct is an equality of two columns, by which rows of two relations meet."""
    try:
        tokens = tokenize(part)
    except TokenError:
        return False
    places = [place for place in outside(tokens) if kind_at(tokens, place) == "EQ"]
    if len(places) != 1:
        return False
    start, stop = tokens[places[0]].start, tokens[places[0]].end
    return is_reference(part[:start]) and is_reference(part[stop:])
