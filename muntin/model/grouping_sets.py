"""Grouping sets: a query that groups by several sets of keys, with marks for the set of a row."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from muntin.errors import ModelError, nearest


@dataclass(frozen=True)
class GroupingSets:
    """Sets of keys, each of which a query groups by: made by `rollup`, `cube`, `grouping_sets`."""

    sets: tuple[tuple[str, ...], ...]


def rollup(*keys: str | Sequence[str]) -> GroupingSets:
    """Returns all keys, then one fewer from the right each time, down to none.

    Keys in a list come and go together.

    >>> rollup("site", "kind").sets
    (('site', 'kind'), ('site',), ())
    """
    groups = [_keys(group) for group in keys]
    return GroupingSets(tuple(_flat(groups[:stop]) for stop in range(len(groups), -1, -1)))


def cube(*keys: str | Sequence[str]) -> GroupingSets:
    """Returns every subset of the keys; keys in a list come and go together.

    >>> cube("site", "kind").sets
    (('site', 'kind'), ('site',), ('kind',), ())
    """
    choices = [(_keys(group), ()) for group in keys]
    return GroupingSets(tuple(_flat(chosen) for chosen in product(*choices)))


def grouping_sets(*sets: str | Sequence[str] | GroupingSets) -> GroupingSets:
    """Returns these sets of keys, each a list of them, or all sets of a `rollup` or `cube`.

    >>> grouping_sets(["site", "kind"], "kind", []).sets
    (('site', 'kind'), ('kind',), ())
    """
    listed: list[tuple[str, ...]] = []
    for each in sets:
        listed += each.sets if isinstance(each, GroupingSets) else [_keys(each)]
    return GroupingSets(tuple(listed))


def cross_sets(keys: Iterable[str | GroupingSets]) -> tuple[tuple[str, ...], ...]:
    """Returns the sets of a whole GROUP BY: every combination of one set from each, with all
    other keys."""
    choices = [key.sets if isinstance(key, GroupingSets) else ((key,),) for key in keys]
    return tuple(_flat(chosen) for chosen in product(*choices))


def distinct_keys(keys: Iterable[str | GroupingSets]) -> tuple[str, ...]:
    """Returns every key of a whole GROUP BY once, in the order in which they are written."""
    groups = (key.sets if isinstance(key, GroupingSets) else ((key,),) for key in keys)
    return _flat(one for sets in groups for one in sets)


def _keys(group: str | Sequence[str]) -> tuple[str, ...]:
    keys = tuple(group) if isinstance(group, list | tuple) else (group,)
    for key in keys:
        if not isinstance(key, str):
            raise ModelError(f"grouping sets are made of columns, and {key!r} is none")
    return keys


def _flat(groups: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for group in groups for key in group))


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Which keys a row's grouping set leaves out, a bit for each, the last key's the lowest.

    It is Spark's `grouping_id`, or its `grouping` of one key. Without keys, all of the query's are
    meant. `window` may be among them, which no set leaves out.
    """

    keys: tuple[str, ...] = ()
    is_id: bool = True

    def value(self, keys: Collection[str], present: Collection[str]) -> str:
        """Returns the SQL literal for a set of `present` keys, out of all `keys` of a query."""
        number = 0
        for key in self.keys or keys:
            number = number * 2 + (key != "window" and key not in present)
        return f"{number}{'L' if self.is_id else 'Y'}"

    def to_sql(self, expressions: Mapping[str, str]) -> str:
        """Returns the call in a statement that groups by the window, then by these keys."""
        if self.is_id:
            return "grouping_id()"
        (key,) = self.keys
        return f"grouping({expressions[key]})"


def grouping(key: str) -> Mark:
    """Returns Spark's `grouping`: 1 in rows whose grouping set leaves the key out, 0 in others."""
    return Mark(keys=(key,), is_id=False)


def grouping_id() -> Mark:
    """Returns Spark's `grouping_id`: the `grouping` of all keys, as the bits of one number."""
    return Mark()


def check_sets(
    query: str,
    sets: Sequence[Sequence[str]] | None,
    marks: Mapping[str, Mark],
    keys: Collection[str],
) -> None:
    """Refuse a query's sets and marks of keys that are not there, and marks without sets."""
    if sets is None:
        raise ModelError(f"query {query!r}: only grouping sets have marks")
    if not sets:
        raise ModelError(f"query {query!r}: at least one grouping set is needed")
    asked = [("grouping set has", name) for one in sets for name in one]
    asked += [("mark is of", name) for mark in marks.values() for name in mark.keys]
    for what, name in asked:
        if name not in keys and (name != "window" or what == "grouping set has"):
            hint = nearest(name, list(keys))
            raise ModelError(f"query {query!r}: a {what} {name!r}, which is no key; {hint}")
