"""User-defined aggregates: lift, combine, lower and an identity (Cutty, section 2.2)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.parts import Part
from muntin.aggregates.representations import FLOAT, UserNumbers
from muntin.aggregates.table import Function
from muntin.errors import ModelError

# The most scalars that one partial may have.
MOST_SCALARS = 3
_FUNCTION = Function(name="aggregate", parts=())
# The fields of a call that JSON leaves out if they are empty.
_FURTHER = ("others", "parameters")


@dataclass(frozen=True, kw_only=True)
class UserComponent(Component):
    """The component that a slice keeps for a user-defined aggregate."""

    lift: tuple[str, ...]
    monoid: Monoid
    # The scalars of the partial of no records; a record with a null lift counts as this.
    identity: tuple[float, ...]

    @property
    def part(self) -> Part:
        """A part of its own, whose floats the user's functions lift and combine."""
        return Part(
            name=self.monoid.name,
            representations={FLOAT: UserNumbers(monoid=self.monoid)},
            value_type=FLOAT,
            calls={},
            lift_record=lambda there, *lifted: lifted if there else self.identity,
            # Records without a value count as the identity.
            is_never_null=True,
        )

    @property
    def state_name(self) -> str:
        """Its name in the state of data windows, which includes the name of its combine."""
        name = function_name(self.monoid.combine)
        return json.dumps([self.kind, self.lift, self.identity, name])

    def event_values(self, value_type: str) -> tuple[str, ...]:
        """Returns the user's lift."""
        return tuple(f"CAST(({sql}) AS DOUBLE)" for sql in self.lift)


@dataclass(frozen=True, kw_only=True)
class UserAggregate(Aggregate):
    """An aggregate whose partials are floating numbers, up to three of them."""

    lift: tuple[str, ...]
    monoid: Monoid
    lower: Callable[[Any], Any]
    identity: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.lift) <= MOST_SCALARS:
            raise ModelError(
                f"an aggregate's lift is one to {MOST_SCALARS} expressions, not {len(self.lift)}"
            )
        for sql in self.lift:
            if not isinstance(sql, str) or not sql.strip():
                raise ModelError(f"an aggregate's lift is Spark SQL, not {sql!r}")
        for name, part in (("combine", self.monoid.combine), ("lower", self.lower)):
            if not callable(part):
                raise ModelError(f"an aggregate's {name} is a function, not {part!r}")
        if len(self.identity) != len(self.lift):
            raise ModelError(
                f"an aggregate's identity has as many numbers as its lift, {len(self.lift)}, "
                f"not {len(self.identity)}"
            )
        identity = self.identity if self.monoid.width > 1 else self.identity[0]
        try:
            combined = self.monoid.combine(identity, identity)
        except Exception as error:
            raise ModelError(
                f"an aggregate's combine fails for its identity {identity!r}: {error}"
            ) from error
        if combined != identity:
            raise ModelError(
                f"an aggregate's identity combined with itself must be itself, {identity!r}, "
                f"and combine gives {combined!r}"
            )

    @property
    def definition(self) -> Function:
        """A row without parts: it is not built from Spark's functions."""
        return _FUNCTION

    @property
    def has_user_code(self) -> bool:
        """True."""
        return True

    @property
    def components(self) -> tuple[Component, ...]:
        """One component, its partial."""
        return (
            UserComponent(
                kind="user",
                argument=self.argument,
                lift=self.lift,
                monoid=self.monoid,
                identity=self.identity,
            ),
        )

    def to_sql(self) -> str:
        """Returns a call of the same type, since Spark SQL cannot express the aggregate itself."""
        return f"max(CAST({self.lift[0]} AS DOUBLE))"

    def __str__(self) -> str:
        return f"{self.monoid.name}({self.argument})"


@dataclass(frozen=True, kw_only=True)
class AbsentAggregate(Aggregate):
    """A user-defined aggregate read from JSON, which has only the names of its functions."""

    lift: tuple[str, ...]
    identity: tuple[float, ...]
    combine: str
    lower: str

    def __post_init__(self) -> None:
        """Checks nothing: the aggregate was checked before it was written."""

    @property
    def definition(self) -> Function:
        """A row without parts, as for `UserAggregate`."""
        return _FUNCTION

    def __str__(self) -> str:
        return f"{self.combine.rpartition('.')[2].strip('<>')}({self.argument})"


def aggregate_to_json(aggregate: Aggregate) -> dict[str, Any]:
    """Returns an aggregate as JSON; a user-defined one has the names of its functions."""
    if not isinstance(aggregate, UserAggregate):
        return call_to_json(aggregate)
    return {
        "function": aggregate.function,
        "argument": aggregate.argument,
        "where": aggregate.where,
        "lift": list(aggregate.lift),
        "identity": list(aggregate.identity),
        "combine": function_name(aggregate.monoid.combine),
        "lower": function_name(aggregate.lower),
    }


def call_to_json(call: Aggregate | Component) -> dict[str, Any]:
    """Returns an aggregate or a component as JSON; `others` and `parameters` only if there are
    any."""
    fields = {name: value for name, value in asdict(call).items() if value or name not in _FURTHER}
    return {name: list(value) if type(value) is tuple else value for name, value in fields.items()}


def aggregate_from_json(data: Mapping[str, Any]) -> Aggregate:
    """The aggregate that `aggregate_to_json` wrote."""
    fields = _with_tuples(data)
    return AbsentAggregate(**fields) if "lift" in data else Aggregate(**fields)


def component_from_json(data: Mapping[str, Any]) -> Component:
    """The component that `call_to_json` wrote."""
    return Component(**_with_tuples(data))


def _with_tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
    }


def function_name(function: Callable[..., Any]) -> str:
    """Returns the name of a function, with its module."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{name}"


def aggregate(
    lift: str | Sequence[str],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any],
    identity: float | Sequence[float],
) -> UserAggregate:
    """An aggregate of your own over floating numbers.

    `lift` is Spark SQL for the partial of one record, or up to three expressions: then partials are
    tuples. `combine` takes an older and a newer partial and is associative; `lower` turns a partial
    into the answer. A record whose lift is null counts as `identity`.
    """
    lifted = (lift,) if isinstance(lift, str) else tuple(lift)
    numbers = tuple(identity) if isinstance(identity, Sequence) else (identity,)
    name = getattr(combine, "__name__", "aggregate").strip("<>")
    return UserAggregate(
        function="aggregate",
        argument=", ".join(map(str, lifted)),
        lift=lifted,
        monoid=Monoid(name=name, combine=combine, width=len(lifted)),
        lower=lower,
        identity=tuple(float(number) for number in numbers),
    )
