"""Writes a DataFrame of Spark Connect as one SELECT over what it reads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from muntin.errors import ModelError
from muntin.model.time import parse_duration
from muntin.spark.engine.connect_plans import Relation, canonical_bytes, operator_of
from muntin.spark.frames.frame_queries import (
    NO_GROUP_BY,
    NO_WINDOW,
    TWO_WINDOWS,
    Ending,
    NotSharedError,
    Watermark,
    has_above_group_by,
)
from muntin.spark.frames.unresolved.expression_sql import WINDOWS, ExpressionSql, Names
from muntin.spark.frames.unresolved.operators import (
    ENDING,
    LOOKED_THROUGH,
    Operators,
    group_again,
    group_by_sql,
    plans_of,
)
from muntin.sql.functions import called_functions

# How the text of a window among the keys starts.
_WINDOWS = ("window(", "session_window(")


@dataclass(frozen=True, kw_only=True)
class FlatStatement:
    """A window aggregate over a base: its clauses are SQL over the columns of the base."""

    base: Relation
    columns: tuple[str, ...]
    where: tuple[str, ...]
    keys: tuple[str, ...]
    having: tuple[str, ...]
    ending: Ending
    # The column of the watermark is SQL, too.
    watermark: Watermark | None

    def to_sql(self, table: str) -> str:
        """Returns the statement; `table` is what the base is called."""
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        having = f" HAVING {' AND '.join(self.having)}" if self.having else ""
        # In ORDER BY, Spark takes the name of the window's column, and no second call of `window`.
        windows = {key: key.partition("(")[0] for key in self.keys if key.startswith(_WINDOWS)}
        ending = self.ending.to_sql([windows.get(text, text) for text in self.ending.order])
        return (
            f"SELECT {', '.join(self.columns)} FROM {table}{where} "
            f"GROUP BY {', '.join(self.keys)}{having} {ending or ''}"
        )


@dataclass(kw_only=True)
class _Below:
    """The columns, filters and windows below a `groupBy`, as far as they were read."""

    base: Relation
    names: Names
    plans: Mapping[int, Names]
    where: list[str] = field(default_factory=list)
    # The windows that were made as columns: each multiplies rows.
    windows: list[str] = field(default_factory=list)
    watermark: Watermark | None = None


def flat_statement(
    relation: Relation, operators: Operators, floors: Collection[bytes] = ()
) -> FlatStatement:
    """Returns the statement of a plan; raises `NotSharedError` if it is no window aggregate.

    Operators that are among the `floors` are bases: those below them are not read.
    """
    above: list[Relation] = []
    kind, operator = operator_of(relation)
    while kind != "aggregate":
        if kind not in LOOKED_THROUGH | ENDING:
            raise NotSharedError(_reason_not_shared(relation))
        above.append(relation)
        relation = operator.input
        kind, operator = operator_of(relation)
    if operator.group_type != operator.GROUP_TYPE_GROUPBY:
        raise NotSharedError("it has rollup, cube, pivot or groupingSets")
    below = _read_below(operator.input, operators, floors)
    write = ExpressionSql(names=below.names, plans=below.plans, refused=frozenset())
    keys, aggregates = group_by_sql(relation, write)
    _check_window(keys, below)
    operators.confirm(relation, lambda names, over: group_again(relation, names, over))
    names = operators.name_columns(relation, [*keys, *aggregates])
    plans = plans_of(relation, names, {})
    having: list[str] = []
    ending = Ending()
    for each in reversed(above):
        if operator_of(each)[0] in ENDING:
            ending = operators.read_ending(ending, each, names, plans)
            names = operators.name_columns(each, [text for _, text in names.columns])
            plans = plans_of(each, names, plans)
            continue
        step = operators.read_step(each, names, plans)
        names, plans = step.names, plans_of(each, step.names, plans)
        if step.condition is not None:
            ending.check_no_limit()
            having.append(step.condition)
    return FlatStatement(
        base=below.base,
        columns=tuple(text for _, text in names.columns),
        where=tuple(below.where),
        keys=tuple(dict.fromkeys(keys)),
        having=tuple(having),
        ending=ending,
        watermark=below.watermark,
    )


def levels_below(relation: Relation) -> list[bytes]:
    """Returns the operators below a plan's `groupBy` that may be a base, from the bottom up."""
    levels: list[bytes] = []
    for each in reversed(_operators_below(relation)):
        # What makes a window, or sets a watermark, is part of the queries.
        if levels and (_makes_window(each) or operator_of(each)[0] == "with_watermark"):
            break
        levels.append(canonical_bytes(each))
    return levels


def below_watermark(relation: Relation) -> bytes | None:
    """Returns the operator that a plan's watermark reads, or None if it sets none."""
    *_, above, bottom = (None, None, *_operators_below(relation))
    if above is None or operator_of(above)[0] != "with_watermark":
        return None
    return canonical_bytes(bottom)


def _operators_below(relation: Relation) -> list[Relation]:
    """Returns the operators below a plan's `groupBy`, from the top down; none without one."""
    kind, operator = operator_of(relation)
    while kind in LOOKED_THROUGH | ENDING:
        relation = operator.input
        kind, operator = operator_of(relation)
    return _operators_to_read(operator.input, ()) if kind == "aggregate" else []


def _operators_to_read(relation: Relation, floors: Collection[bytes]) -> list[Relation]:
    """Returns operators that might be looked through, from the top down, and what they read."""
    passed = [relation]
    kind, operator = operator_of(relation)
    while kind in LOOKED_THROUGH or kind == "with_watermark":
        if floors and canonical_bytes(relation) in floors:
            break
        relation = operator.input
        passed.append(relation)
        if kind == "with_watermark":
            # A filter below it decides what the watermark sees, so it is part of the base.
            break
        kind, operator = operator_of(relation)
    return passed


def _makes_window(relation: Relation) -> bool:
    kind, operator = operator_of(relation)
    return kind in LOOKED_THROUGH and any(
        word in str(part)
        for part in (getattr(operator, "expressions", ()), getattr(operator, "aliases", ()))
        for word in WINDOWS
    )


def _read_below(relation: Relation, operators: Operators, floors: Collection[bytes]) -> _Below:
    """Reads the operators below a `groupBy`, above the last that cannot be written as SQL."""
    *passed, bottom = _operators_to_read(relation, floors)
    below = _start_at(bottom, operators)
    for each in reversed(passed):
        try:
            _read_operator(each, below, operators)
        except NotSharedError:
            if below.watermark is not None or operator_of(each)[0] == "with_watermark":
                raise
            below = _start_at(each, operators)
    return below


def _start_at(relation: Relation, operators: Operators) -> _Below:
    names = operators.base_columns(relation)
    return _Below(base=relation, names=names, plans=plans_of(relation, names, {}))


def _read_operator(relation: Relation, below: _Below, operators: Operators) -> None:
    """Adds one more operator to what is known of the rows."""
    kind, operator = operator_of(relation)
    if kind == "with_watermark":
        try:
            delay = parse_duration(operator.delay_threshold)
        except ModelError as error:
            raise NotSharedError(str(error)) from None
        below.watermark = Watermark(delay=delay, column=below.names.meaning(operator.event_time))
        below.plans = plans_of(relation, below.names, below.plans)
        return
    step = operators.read_step(relation, below.names, below.plans)
    known = {text for _, text in below.names.columns}
    below.windows += [
        text for _, text in step.names.columns if text not in known and _has_window(text)
    ]
    if step.condition is not None:
        below.where.append(step.condition)
    below.names = step.names
    below.plans = plans_of(relation, step.names, below.plans)


def _check_window(keys: list[str], below: _Below) -> None:
    """Refuse all but one window, which must be a key."""
    made = [*below.windows, *{key for key in keys if _has_window(key)}.difference(below.windows)]
    if not made or not any(key in made for key in keys):
        raise NotSharedError(NO_WINDOW)
    if len(made) > 1:
        raise NotSharedError(TWO_WINDOWS)
    if any(key.strip("()-").isdigit() for key in keys):
        # In GROUP BY a number is the place of a column.
        raise NotSharedError("a key is a number")
    if any(_has_window(condition) for condition in below.where):
        raise NotSharedError("a filter below its groupBy reads the window")


def _has_window(text: str) -> bool:
    return bool(called_functions(text) & WINDOWS)


def _reason_not_shared(relation: Relation) -> str:
    """Returns why a plan with such an operator on top cannot share."""
    kind, _ = operator_of(relation)
    inner = relation
    while hasattr(operator_of(inner)[1], "input"):
        inner = operator_of(inner)[1].input
        if operator_of(inner)[0] == "aggregate":
            return has_above_group_by(kind)
    return NO_GROUP_BY
