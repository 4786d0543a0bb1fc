"""The table of aggregates: a row for each function, and a row for each part that a slice keeps.

A new function that uses existing parts is one row of `FUNCTIONS`. A part says how Spark computes it
from events, and how two partials combine. Nothing outside this file knows a function by name:
slices, the compiled runtime, Spark's own combine, streams, SQL and costs all read the rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from muntin.errors import PlanError
from muntin.model.aggregates import precision
from muntin.model.aggregates.formula import Formula
from muntin.model.aggregates.monoids import (
    ADD,
    ADD_FLOAT,
    ADD_LIMBS,
    ADD_WIDE,
    BAG,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    FOUR_MOMENTS,
    MAX,
    MIN,
    MOMENTS,
    PAIR_MOMENTS,
    REGISTERS,
    SET,
    SKETCH,
    TALLY,
    Monoid,
)

# How a partial is stored: as columns of integers or floats, or as one column of another type. Then
# its storage is that type's name, and `TYPED` stands for all of these.
INTEGER = "integer"
FLOAT = "float"
TYPED = "typed"

# The type of a function's answer: that of its values, a count that is never null, a double, a list
# of values, or doubles, one for each percentage.
VALUE = "value"
COUNT = "count"
DOUBLE = "double"
VALUES = "values"
PERCENTILES = "percentiles"

# The parameter that says whether values are in ascending or descending order, `ASC` or `DESC`.
ORDER = "order"


def is_typed(storage: str) -> bool:
    """Whether partials are a column of another type than integers or floats."""
    return storage not in (INTEGER, FLOAT)


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of one of Spark's aggregate functions on some of a part's arguments."""

    function: str
    of: tuple[str, ...] = ("x",)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A value that a slice can keep for an aggregate.

    Its arguments are x and y. `storage` fixes how they are stored; without it, the data decides. Of
    two arguments, both must be non-null for a row to count.
    """

    name: str
    # How partials combine, by their storage; `ansi` is for integers that must detect overflow.
    monoids: Mapping[str, Monoid]
    ansi: Monoid | None = None
    storage: str | None = None
    # The calls of Spark's aggregates that it is made of, and its scalars as Spark SQL over them.
    calls: Mapping[str, Call]
    scalars: Mapping[str, str] = field(default_factory=lambda: {"value": "{value}"})
    # Its scalars of one record, computed from whether the record counts and from its arguments.
    of_record: Formula
    # Whether the values matter, or only whether they are null.
    is_of_values: bool = True
    # The aggregate of Spark that combines partials, if they have one scalar: its name, or a call
    # over `{p}`, with `{parameters}` behind it.
    combined_by: str | None = None
    # Whether the partial of no values is a value, such as a count of zero, not null.
    is_never_null: bool = False
    # Of a set of values, whether -0.0 and 0.0 are two of them, as Spark's percentiles have it.
    tells_zeros_apart: bool = False
    # What compiled code reads of an event, as Spark SQL over the arguments, if not the arguments.
    reads: str | None = None
    # Whether the parameters of a call say what is kept, and not only what is answered from it.
    takes_parameters: bool = False
    # Whether Spark alone combines it: bytes that only its own functions read.
    is_spark_only: bool = False
    # Whether it is a struct of a value, x, and of what it is chosen by, y. Then x may be null.
    is_chosen: bool = False

    def monoid(self, storage: str, *, ansi: bool) -> Monoid:
        """Returns the monoid for a storage; `ansi` integer sums detect overflow."""
        kind = TYPED if is_typed(storage) else storage
        if kind not in self.monoids:
            raise PlanError(f"a {self.name} of {storage}s is not kept in slices")
        if ansi and self.ansi is not None and storage == INTEGER:
            return self.ansi
        return self.monoids[kind]

    @cached_property
    def is_of_entries(self) -> bool:
        """Whether its partials are sets of values, an entry for each."""
        return any(monoid.sweep is not None for monoid in self.monoids.values())

    @property
    def is_native(self) -> bool:
        """Whether Spark's own aggregates make it of events, or compiled code alone."""
        return bool(self.calls)

    @property
    def all_monoids(self) -> tuple[Monoid, ...]:
        """Every monoid it may combine by, over all types of values."""
        return (*self.monoids.values(), *([] if self.ansi is None else [self.ansi]))


def _simple(name: str, monoids: Mapping[str, Monoid]) -> Part:
    """Returns a part that one of Spark's functions both computes and combines."""
    return Part(
        name=name,
        monoids=monoids,
        calls={"value": Call(function=name)},
        of_record=lambda there, x: (x,),
        combined_by=name,
    )


def _float_sum(name: str, of_record: Formula, *, of: str = "x") -> Part:
    """Returns a part that sums an argument as doubles; of two, over the rows that have both."""
    return Part(
        name=name,
        monoids={FLOAT: ADD_FLOAT},
        storage=FLOAT,
        calls={"value": Call(function="sum", of=(of,))},
        of_record=of_record,
        combined_by="sum",
    )


def _entries(name: str, monoid: Monoid) -> Part:
    """Returns a part that is a set of values: compiled code makes it of events, not Spark's SQL."""
    return Part(
        name=name,
        monoids={INTEGER: monoid, FLOAT: monoid, TYPED: monoid},
        calls={},
        scalars={},
        of_record=lambda there, x: (x,),
        is_never_null=True,
    )


def _chosen(name: str, extreme: str, monoid: Monoid) -> Part:
    """Returns the value beside the extreme of another one, and that extreme."""
    return Part(
        name=name,
        monoids={TYPED: monoid},
        calls={
            "y": Call(function=extreme, of=("y",)),
            "x": Call(function=name, of=("x", "y")),
        },
        scalars={"value": "IF({y} IS NULL, NULL, named_struct('y', {y}, 'x', {x}))"},
        of_record=lambda there, x, y: (x, y),
        combined_by=f"{name}({{p}}, {{p}}.y)",
        reads="IF(({y}) IS NULL, NULL, named_struct('y', {y}, 'x', {x}))",
        is_chosen=True,
    )


def _sketch(name: str, merge: str, *, call: str = "{value}", monoid: Monoid = SKETCH) -> Part:
    """Returns a part that one of Spark's functions makes, and another merges."""
    return Part(
        name=name,
        monoids={TYPED: monoid},
        calls={"value": Call(function=name), "n": Call(function="count")},
        scalars={"value": call},
        of_record=lambda there, x: (x,),
        combined_by=merge,
        takes_parameters=True,
        is_spark_only=True,
    )


# The mean of equal values must be exactly that value: a sum divided by a count may be off by one
# bit, and Spark answers null where values do not vary.
_MEAN = "CASE WHEN {%(var)s} = 0 THEN {%(max)s} ELSE try_divide({%(sum)s}, {n}) END"

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part(
            name="count",
            monoids={INTEGER: ADD},
            storage=INTEGER,
            calls={"value": Call(function="count")},
            of_record=lambda there: (there,),
            is_of_values=False,
            combined_by="sum",
            is_never_null=True,
        ),
        Part(
            name="count_if",
            monoids={INTEGER: ADD},
            storage=INTEGER,
            calls={"value": Call(function="count_if")},
            of_record=lambda there, x: (x,),
            combined_by="sum",
            is_never_null=True,
        ),
        Part(
            name="sum",
            monoids={INTEGER: ADD, FLOAT: ADD_FLOAT, TYPED: ADD_LIMBS},
            ansi=ADD_WIDE,
            calls={"value": Call(function="sum")},
            of_record=lambda there, x: (x,),
            combined_by="sum",
        ),
        _float_sum("float_sum", lambda there, x: (x,)),
        _float_sum("sum_of_first", lambda there, x, y: (x,)),
        _float_sum("sum_of_second", lambda there, x, y: (y,), of="y"),
        _simple("min", {INTEGER: MIN, FLOAT: MIN, TYPED: MIN}),
        _simple("max", {INTEGER: MAX, FLOAT: MAX, TYPED: MAX}),
        _simple("bit_and", {INTEGER: BIT_AND}),
        _simple("bit_or", {INTEGER: BIT_OR}),
        _simple("bit_xor", {INTEGER: BIT_XOR}),
        Part(
            name="moments",
            monoids={FLOAT: MOMENTS},
            storage=FLOAT,
            calls={
                "var": Call(function="var_pop"),
                "sum": Call(function="sum"),
                "n": Call(function="count"),
            },
            scalars={
                "n": "CAST({n} AS DOUBLE)",
                "mean": "try_divide({sum}, {n})",
                "m2": "{var} * {n}",
            },
            of_record=lambda there, x: (there, x, x - x),
            is_never_null=True,
        ),
        Part(
            name="four_moments",
            monoids={FLOAT: FOUR_MOMENTS},
            storage=FLOAT,
            calls={
                "var": Call(function="var_pop"),
                "skew": Call(function="skewness"),
                "kurt": Call(function="kurtosis"),
                "sum": Call(function="sum"),
                "max": Call(function="max"),
                "n": Call(function="count"),
            },
            scalars={
                "n": "CAST({n} AS DOUBLE)",
                "mean": _MEAN % {"var": "var", "max": "max", "sum": "sum"},
                "m2": "{var} * {n}",
                "m3": "coalesce({skew} * {var} * sqrt({var}) * {n}, 0D)",
                "m4": "coalesce(({kurt} + 3D) * {var} * {var} * {n}, 0D)",
            },
            of_record=lambda there, x: (there, x, x - x, x - x, x - x),
            is_never_null=True,
        ),
        Part(
            name="pair_moments",
            monoids={FLOAT: PAIR_MOMENTS},
            storage=FLOAT,
            calls={
                "var_x": Call(function="var_pop"),
                "var_y": Call(function="var_pop", of=("y",)),
                "covar": Call(function="covar_pop", of=("x", "y")),
                "sum_x": Call(function="sum"),
                "max_x": Call(function="max"),
                "sum_y": Call(function="sum", of=("y",)),
                "max_y": Call(function="max", of=("y",)),
                "n": Call(function="count"),
            },
            scalars={
                "n": "CAST({n} AS DOUBLE)",
                "mx": _MEAN % {"var": "var_x", "max": "max_x", "sum": "sum_x"},
                "my": _MEAN % {"var": "var_y", "max": "max_y", "sum": "sum_y"},
                "xx": "{var_x} * {n}",
                "yy": "{var_y} * {n}",
                "xy": "{covar} * {n}",
            },
            of_record=lambda there, x, y: (there, x, y, x - x, y - y, (x - x) * (y - y)),
            is_never_null=True,
        ),
        _entries("distinct", SET),
        _entries("frequencies", BAG),
        replace(_entries("values", BAG), tells_zeros_apart=True),
        Part(
            name="registers",
            monoids={TYPED: REGISTERS},
            storage="binary",
            calls={},
            scalars={},
            of_record=lambda there, x: (x,),
            is_never_null=True,
            reads="IF(({x}) IS NULL, NULL, xxhash64({x}))",
            takes_parameters=True,
        ),
        _chosen("max_by", "max", MAX),
        _chosen("min_by", "min", MIN),
        _sketch("bitmap_construct_agg", "bitmap_or_agg({p})"),
        _sketch("bitmap_or_agg", "bitmap_or_agg({p})"),
        _sketch("bitmap_and_agg", "bitmap_and_agg({p})"),
        _sketch("theta_sketch_agg", "theta_union_agg({p}{parameters})"),
        _sketch("theta_union_agg", "theta_union_agg({p}{parameters})"),
        _sketch(
            "theta_intersection_agg",
            "theta_intersection_agg({p})",
            # Without values it is an empty sketch, which would leave nothing of the others.
            call="CASE WHEN {n} > 0 THEN {value} END",
        ),
        _sketch("hll_sketch_agg", "hll_union_agg({p})"),
        _sketch("hll_union_agg", "hll_union_agg({p}{parameters})"),
        *(
            _sketch(
                f"kll_{part}_agg_{kind}", f"kll_merge_agg_{kind}({{p}}{{parameters}})", monoid=TALLY
            )
            for part in ("sketch", "merge")
            for kind in ("bigint", "double", "float")
        ),
        _sketch("approx_top_k_accumulate", "approx_top_k_combine({p}{parameters})", monoid=TALLY),
    )
}


@dataclass(frozen=True, kw_only=True)
class Function:
    """An aggregate function that can be built from slices."""

    name: str
    # The parts that a slice keeps for it, by name.
    parts: tuple[str, ...]
    arguments: int = 1
    result: str = VALUE
    # The answer from the scalars of all parts (None: the only scalar is the answer), whether there
    # is an answer, and a condition under which it is a constant.
    answer: Formula | None = None
    has_answer: Formula | None = None
    constant: tuple[Formula, float] | None = None
    aliases: tuple[str, ...] = ()
    # Whether it returns NaN, not null, under `spark.sql.legacy.statisticalAggregate`.
    has_legacy: bool = False
    # Of a set of values: how the runtime sums it up (`runtime.entries.summaries`).
    summary: str | None = None
    # The constants behind its arguments, by name. The last may be left out if it is an ORDER, and
    # all may if calls are spelled as usual.
    parameters: tuple[str, ...] = ()
    # How Spark spells a call, where that is not `name(arguments)`: with `{x}` for the arguments,
    # and the parameters by name.
    spelled: str | None = None
    # The function whose calls with DISTINCT it stands for.
    distinct_of: str | None = None
    # Whether it takes any number of arguments from `arguments` on.
    takes_more: bool = False
    # Returns why a call with some parameters is left to Spark, or None.
    why_not: Callable[[tuple[str, ...]], str | None] | None = None
    # How many of the parameters say only what is answered: those that come first. And the answer as
    # Spark SQL over what is kept, `{p}`, with these `{parameters}`, if it has no formula.
    own_parameters: int = 0
    finish: str | None = None
    # Whether its answers from slices are Spark's only within an error bound.
    is_bounded: bool = False

    @cached_property
    def is_native(self) -> bool:
        """Whether Spark SQL can make and combine its partials."""
        return all(PARTS[part].is_native for part in self.parts)

    @cached_property
    def is_chosen(self) -> bool:
        """Whether its answer is a value that another one chooses."""
        return any(PARTS[part].is_chosen for part in self.parts)

    @cached_property
    def is_spark_only(self) -> bool:
        """Whether Spark alone combines its partials."""
        return any(PARTS[part].is_spark_only for part in self.parts)

    @cached_property
    def monoids(self) -> tuple[Monoid, ...]:
        """Every monoid it may combine by, over all types of values."""
        return tuple(monoid for part in self.parts for monoid in PARTS[part].all_monoids)

    @cached_property
    def idempotent(self) -> bool:
        """Whether overlapping parents do no harm, and DISTINCT changes nothing."""
        return bool(self.monoids) and all(monoid.idempotent for monoid in self.monoids)

    @cached_property
    def selective(self) -> bool:
        """Whether its answer is one of the values."""
        return bool(self.monoids) and all(monoid.selective for monoid in self.monoids)

    @cached_property
    def is_of_entries(self) -> bool:
        """Whether slices keep sets of values for it."""
        return any(PARTS[part].is_of_entries for part in self.parts)

    @cached_property
    def casts(self) -> bool:
        """Whether Spark casts its values to doubles, one by one."""
        return any(PARTS[part].storage == FLOAT for part in self.parts)


def _distinct(function: str, summary: str, result: str = VALUE, *, more: bool = False) -> Function:
    """Returns what a function is of the distinct values of its argument."""
    return Function(
        name=f"{function}_distinct",
        parts=("distinct",),
        result=result,
        summary=summary,
        spelled=f"{function}(DISTINCT {{x}})",
        distinct_of=function,
        takes_more=more,
    )


def _ordered(name: str, summary: str, spelled: str | None = None, *parameters: str) -> Function:
    """Returns a function of the values in their order."""
    return Function(
        name=name,
        parts=("frequencies" if summary == "mode" else "values",),
        result=VALUE if summary == "mode" else PERCENTILES,
        summary=summary,
        parameters=parameters,
        spelled=spelled,
    )


def _merged(name: str, *parameters: str, is_bounded: bool = False) -> Function:
    """Returns a function whose answer is a sketch, merged of those of slices."""
    return Function(name=name, parts=(name,), parameters=parameters, is_bounded=is_bounded)


def _mean(name: str, total: str, *aliases: str, arguments: int = 1) -> Function:
    """Returns the mean of what the part `total` sums."""
    return Function(
        name=name,
        parts=(total, "count"),
        arguments=arguments,
        result=DOUBLE,
        answer=lambda total, n: total / n,
        has_answer=lambda total, n: n > 0,
        aliases=aliases,
    )


def _spread(name: str, formula: Formula, *aliases: str, least: int) -> Function:
    """Returns a measure of spread, which needs more than `least` values."""
    return Function(
        name=name,
        parts=("moments",),
        result=DOUBLE,
        answer=formula,
        has_answer=lambda n, mean, m2: n > least,
        aliases=aliases,
        has_legacy=least > 0,
    )


def _pair(name: str, answer: Formula, has_answer: Formula, *, legacy: bool = False) -> Function:
    """Returns a function of pairs of values."""
    return Function(
        name=name,
        parts=("pair_moments",),
        arguments=2,
        result=DOUBLE,
        answer=answer,
        has_answer=has_answer,
        has_legacy=legacy,
    )


# The first argument of a pair is x here, as in the parts; Spark's regr_* call it y.
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(name="count", parts=("count",), result=COUNT),
        Function(name="count_if", parts=("count_if",), result=COUNT),
        Function(name="sum", parts=("sum",)),
        _mean("avg", "float_sum", "mean"),
        Function(name="min", parts=("min",)),
        Function(name="max", parts=("max",)),
        Function(name="bool_or", parts=("max",), aliases=("any", "some")),
        Function(name="bool_and", parts=("min",), aliases=("every",)),
        Function(name="bit_and", parts=("bit_and",)),
        Function(name="bit_or", parts=("bit_or",)),
        Function(name="bit_xor", parts=("bit_xor",)),
        _spread("var_samp", lambda n, mean, m2: m2 / (n - 1), "variance", least=1),
        _spread("var_pop", lambda n, mean, m2: m2 / n, least=0),
        _spread("stddev_samp", lambda n, mean, m2: (m2 / (n - 1)) ** 0.5, "stddev", "std", least=1),
        _spread("stddev_pop", lambda n, mean, m2: (m2 / n) ** 0.5, least=0),
        Function(
            name="skewness",
            parts=("four_moments",),
            result=DOUBLE,
            answer=lambda n, mean, m2, m3, m4: n**0.5 * m3 / (m2 * m2 * m2) ** 0.5,
            has_answer=lambda n, mean, m2, m3, m4: (n > 0) & (m2 != 0),
            has_legacy=True,
        ),
        Function(
            name="kurtosis",
            parts=("four_moments",),
            result=DOUBLE,
            answer=lambda n, mean, m2, m3, m4: n * m4 / (m2 * m2) - 3.0,
            has_answer=lambda n, mean, m2, m3, m4: (n > 0) & (m2 != 0),
            has_legacy=True,
        ),
        _pair("covar_pop", lambda n, mx, my, xx, yy, xy: xy / n, lambda n, *_: n > 0),
        _pair(
            "covar_samp",
            lambda n, mx, my, xx, yy, xy: xy / (n - 1),
            lambda n, *_: n > 1,
            legacy=True,
        ),
        _pair(
            "corr",
            lambda n, mx, my, xx, yy, xy: xy / (xx * yy) ** 0.5,
            lambda n, mx, my, xx, yy, xy: (n > 1) & (xx != 0) & (yy != 0),
            legacy=True,
        ),
        Function(name="regr_count", parts=("count",), arguments=2, result=COUNT),
        _mean("regr_avgy", "sum_of_first", arguments=2),
        _mean("regr_avgx", "sum_of_second", arguments=2),
        _pair("regr_syy", lambda n, mx, my, xx, *_: xx, lambda n, *_: n > 0),
        _pair("regr_sxx", lambda n, mx, my, xx, yy, xy: yy, lambda n, *_: n > 0),
        _pair("regr_sxy", lambda n, mx, my, xx, yy, xy: xy, lambda n, *_: n > 0),
        _pair(
            "regr_slope",
            lambda n, mx, my, xx, yy, xy: xy / yy,
            lambda n, mx, my, xx, yy, xy: (n > 0) & (yy != 0),
        ),
        _pair(
            "regr_intercept",
            lambda n, mx, my, xx, yy, xy: mx - xy / yy * my,
            lambda n, mx, my, xx, yy, xy: (n > 0) & (yy != 0),
        ),
        Function(
            name="regr_r2",
            parts=("pair_moments",),
            arguments=2,
            result=DOUBLE,
            answer=lambda n, mx, my, xx, yy, xy: xy * xy / (xx * yy),
            has_answer=lambda n, mx, my, xx, yy, xy: (n > 0) & (yy != 0),
            constant=(lambda n, mx, my, xx, yy, xy: xx == 0, 1.0),
        ),
        _distinct("count", "count", COUNT, more=True),
        _distinct("sum", "sum"),
        _distinct("avg", "mean", DOUBLE),
        Function(name="collect_set", parts=("distinct",), result=VALUES, summary="values"),
        _ordered("median", "percentile"),
        _ordered("percentile", "percentile", "percentile({x}, {percentage})", "percentage"),
        _ordered(
            "percentile_cont",
            "percentile",
            "percentile_cont({percentage}) WITHIN GROUP (ORDER BY {x} {order})",
            *("percentage", ORDER),
        ),
        _ordered(
            "percentile_disc",
            "discrete",
            "percentile_disc({percentage}) WITHIN GROUP (ORDER BY {x} {order})",
            *("percentage", ORDER),
        ),
        _ordered("mode", "mode", "mode() WITHIN GROUP (ORDER BY {x} {order})", ORDER),
        Function(
            name="approx_count_distinct",
            parts=("registers",),
            result=COUNT,
            parameters=("relative error",),
            why_not=precision.why_not,
        ),
        Function(
            name="approx_percentile",
            parts=("values",),
            result=PERCENTILES,
            summary="discrete",
            parameters=("percentage", "accuracy"),
            why_not=precision.why_no_percentage,
            aliases=("percentile_approx",),
            is_bounded=True,
        ),
        Function(name="max_by", parts=("max_by",), arguments=2, finish="{p}.x"),
        Function(name="min_by", parts=("min_by",), arguments=2, finish="{p}.x"),
        _merged("bitmap_construct_agg"),
        _merged("bitmap_or_agg"),
        _merged("bitmap_and_agg"),
        _merged("theta_sketch_agg", "lgNomEntries"),
        _merged("theta_union_agg", "lgNomEntries"),
        _merged("theta_intersection_agg"),
        _merged("hll_sketch_agg", "lgConfigK", is_bounded=True),
        _merged("hll_union_agg", "allowDifferentLgConfigK", is_bounded=True),
        *(
            _merged(f"kll_{part}_agg_{kind}", "k", is_bounded=True)
            for part in ("sketch", "merge")
            for kind in ("bigint", "double", "float")
        ),
        _merged("approx_top_k_accumulate", "maxItemsTracked", is_bounded=True),
        Function(
            name="approx_top_k",
            parts=("approx_top_k_accumulate",),
            parameters=("k", "maxItemsTracked"),
            own_parameters=1,
            finish="approx_top_k_estimate({p}{parameters})",
            is_bounded=True,
        ),
    )
}

# The canonical name of every spelling of a function, in lower case.
SPELLINGS: dict[str, str] = {
    spelling: function.name
    for function in FUNCTIONS.values()
    if function.distinct_of is None
    for spelling in (function.name, *function.aliases)
}

# The function that a call with DISTINCT is of, by the name of what is called.
DISTINCT: dict[str, str] = {
    function.distinct_of: function.name
    for function in FUNCTIONS.values()
    if function.distinct_of is not None
}
