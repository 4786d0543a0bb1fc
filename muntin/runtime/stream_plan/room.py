"""Room: the columns that a running operator has, fixed when it first starts.

Spark's state store refuses another schema on an old checkpoint: other types, or another number of
columns. What is aggregated in a column may change. So a stream is given columns by type, with some
to spare, and every lane puts its keys and components into them. Queries that come later find room
among those that their lane does not use.
"""

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass

from muntin.errors import RunError
from muntin.model.aggregates.aggregate import Component
from muntin.model.aggregates.table import FLOAT, INTEGER

# What a column of keys may hold; every key type that streams is one of these on the way.
KEY_KINDS = ("long", "double", "text", "bytes")
# What a column of partials may hold: any aggregate of floats; sums and counts of integers; least
# and greatest integers, apart from those, since a sum that found one in its place might overflow;
# and moments of floats, which Spark keeps in several columns that are never null.
VALUE_KINDS = ("float", "integer", "extreme", "variance", "skewness", "kurtosis", "covariance")
# Moments are rare, and wide.
_MOST_SPARE = {"variance": 1, "skewness": 0, "kurtosis": 0, "covariance": 0}


# The aggregate function of each kind of column that has but one.
MOMENTS = {
    "variance": "var_pop",
    "skewness": "skewness",
    "kurtosis": "kurtosis",
    "covariance": "covar_pop",
}
_KINDS = {function: kind for kind, function in MOMENTS.items()}
# A count adds up ones, and a sum that must not overflow the halves of its words.
_SUMS = {"count": "sum", "count_if": "sum", "high": "sum", "low": "sum"}


@dataclass(frozen=True, kw_only=True)
class Use:
    """What a component puts into one column: the kind of column, and the part that it has there.

    `of` says which of its arguments.
    """

    kind: str
    role: str
    of: tuple[str, ...] = ("x",)

    @property
    def function(self) -> str:
        """How Spark aggregates it: all lanes that have this column must do it alike."""
        return _SUMS.get(self.role, self.role)


def uses_of(component: Component, number: str, *, ansi: bool) -> tuple[Use, ...]:
    """The columns that a component of integers or floats takes.

    `ansi` integer sums are kept as two, of the words' upper and lower halves, which cannot
    overflow themselves.
    """
    if component.kind == "sum" and number == INTEGER and ansi:
        return (Use(kind="integer", role="high"), Use(kind="integer", role="low"))
    return tuple(
        Use(kind=_kind(call.function, number), role=call.function, of=call.of)
        for call in component.part.calls.values()
    )


def _kind(function: str, number: str) -> str:
    """The kind of column that an aggregate of integers or floats is kept in."""
    if function in _KINDS:
        return _KINDS[function]
    if function in ("count", "count_if"):
        return "integer"
    if number == FLOAT:
        return "float"
    return "integer" if function == "sum" else "extreme"


@dataclass(frozen=True, kw_only=True)
class Room:
    """How many columns there are of each kind."""

    keys: Mapping[str, int]
    values: Mapping[str, int]

    @property
    def key_slots(self) -> tuple[str, ...]:
        """The names of all key columns."""
        return tuple(f"{kind}{index}" for kind in KEY_KINDS for index in range(self.keys[kind]))

    @property
    def value_slots(self) -> tuple[str, ...]:
        """The names of all columns of partials."""
        return tuple(f"{kind}{index}" for kind in VALUE_KINDS for index in range(self.values[kind]))

    def find_key(self, kind: str, taken: Collection[str]) -> str | None:
        """The first key column of a kind that is not taken."""
        slots = (f"{kind}{index}" for index in range(self.keys[kind]))
        return next((slot for slot in slots if slot not in taken), None)

    def find(self, use: Use, taken: Collection[str], functions: Mapping[str, str]) -> str | None:
        """A column of partials that a lane has not taken, and that no lane aggregates otherwise.

        Rather one that another lane aggregates alike. `functions` has those of the columns in use.
        """
        slots = (f"{use.kind}{index}" for index in range(self.values[use.kind]))
        free = [slot for slot in slots if slot not in taken]
        shared = (slot for slot in free if functions.get(slot) == use.function)
        return next(shared, None) or next((slot for slot in free if slot not in functions), None)


def kind_of(slot: str) -> str:
    """The kind of a column, from its name."""
    return slot.rstrip("0123456789")


def placed(
    uses: Iterable[Use], room: Room, taken: list[str], functions: MutableMapping[str, str]
) -> tuple[str, ...] | None:
    """Columns for a component, noted in `taken` and `functions`; none where there is no room."""
    slots = []
    for use in uses:
        slot = room.find(use, taken, functions)
        if slot is None:
            return None
        slots.append(slot)
        taken.append(slot)
        functions[slot] = use.function
    return tuple(slots)


def columns_of(wanted: Iterable[tuple[Use, ...]]) -> str:
    """How many columns of each kind components take, in words."""
    kinds = [use.kind for uses in wanted for use in uses]
    return "columns: " + ", ".join(f"{kinds.count(one)} of {one}" for one in dict.fromkeys(kinds))


def room_for(
    needs: Iterable[tuple[Iterable[str], Iterable[tuple[Use, ...]]]], *, spare: int
) -> Room:
    """Room for lanes, each given by its kinds of keys and what its components use; and to spare."""
    if spare < 0:
        raise RunError(f"spare is how many columns of each kind are kept free, not {spare}")
    keys = dict.fromkeys(KEY_KINDS, 0)
    endless = Room(keys=keys, values=dict.fromkeys(VALUE_KINDS, 1 << 10))
    functions: dict[str, str] = {}
    for key_kinds, components in needs:
        found, taken = list(key_kinds), list[str]()
        for kind in keys:
            keys[kind] = max(keys[kind], found.count(kind))
        for uses in components:
            placed(uses, endless, taken, functions)
    # Later queries rarely bring more keys, and mostly names or numbers.
    for kind in ("long", "text"):
        keys[kind] += min(spare, 1)
    values = {kind: sum(kind_of(slot) == kind for slot in functions) for kind in VALUE_KINDS}
    more = {kind: min(spare, _MOST_SPARE.get(kind, spare)) for kind in VALUE_KINDS}
    return Room(keys=keys, values={kind: values[kind] + more[kind] for kind in VALUE_KINDS})
