"""The table of aggregates: a row for each function.

A new function that uses existing parts (`parts.py`) is one row of `FUNCTIONS`. Nothing outside
these two files knows a function by name: slices, the compiled runtime, Spark's own combine,
streams, SQL and costs all read the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from muntin.aggregates import parameters
from muntin.aggregates.formula import Formula
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.parameters import DELIMITER, ORDER
from muntin.aggregates.parts import PARTS
from muntin.aggregates.representations import FLOAT

# The type of a function's answer: that of its values, a count that is never null, a double, a list
# of values, doubles, one for each percentage, a text that Spark joins of a list of values, bytes
# that are never null, values with their counts, or a sketch of such, with the type of the values.
VALUE = "value"
COUNT = "count"
DOUBLE = "double"
VALUES = "values"
PERCENTILES = "percentiles"
TEXT = "text"
BYTES = "bytes"
ITEMS = "items"
STATE = "state"


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
    # Of a set of values: how the runtime sums it up (`runtime.storage.summaries`).
    summary: str | None = None
    # The constants behind its arguments, by name. The last may be left out if it is an ORDER, and
    # all may if calls are spelled as usual.
    parameters: tuple[str, ...] = ()
    # How Spark spells a call, where that is not `name(arguments)`: with `{x}` for the arguments,
    # and the parameters by name.
    call_template: str | None = None
    # The function whose calls with DISTINCT it stands for.
    distinct_of: str | None = None
    # Whether it takes any number of arguments from `arguments` on.
    is_variadic: bool = False
    # Reads the parameters of a call; raises `ModelError` if the call is left to Spark.
    check_parameters: Callable[[tuple[str, ...]], Any] | None = None
    # The answer as Spark SQL over the partial, `{p}`, if it has no formula.
    answer_template: str | None = None
    # The answer as Spark SQL over the summary of a set of values, `{p}`, if it is not the summary;
    # it may name the parameters.
    summary_template: str | None = None
    # Whether the order of its answer is undefined, so that it is shared only inside functions that
    # ignore the order.
    has_undefined_order: bool = False
    # Whether its answers from slices are Spark's only within an error bound.
    is_approximate: bool = False

    @cached_property
    def is_native(self) -> bool:
        """Whether Spark SQL can make and combine its partials."""
        return all(PARTS[part].is_native for part in self.parts)

    @cached_property
    def is_arg_extreme(self) -> bool:
        """Whether it is `max_by` or `min_by`."""
        return any(PARTS[part].is_arg_extreme for part in self.parts)

    @cached_property
    def monoids(self) -> tuple[Monoid, ...]:
        """Every monoid it may combine by, over all types of values."""
        return tuple(each.monoid for part in self.parts for each in PARTS[part].all_representations)

    @cached_property
    def idempotent(self) -> bool:
        """Whether overlapping parents do no harm, and DISTINCT changes nothing."""
        return bool(self.monoids) and all(monoid.idempotent for monoid in self.monoids)

    @cached_property
    def selective(self) -> bool:
        """Whether its answer is one of the values."""
        return bool(self.monoids) and all(monoid.selective for monoid in self.monoids)

    @cached_property
    def is_ordered_by_argument(self) -> bool:
        """Whether the argument of the call is also what WITHIN GROUP orders by."""
        return self.call_template is not None and self.call_template.count("{x}") > 1

    @cached_property
    def casts_to_double(self) -> bool:
        """Whether Spark casts its values to doubles, one by one."""
        return any(PARTS[part].value_type == FLOAT for part in self.parts)


def _distinct(function: str, summary: str, result: str = VALUE, *, more: bool = False) -> Function:
    """Returns the row of `function(DISTINCT ...)`."""
    return Function(
        name=f"{function}_distinct",
        parts=("distinct",),
        result=result,
        summary=summary,
        call_template=f"{function}(DISTINCT {{x}})",
        distinct_of=function,
        is_variadic=more,
    )


def _function_of_order(
    name: str, summary: str, spelled: str | None = None, *parameters: str
) -> Function:
    """Returns the row of a function that sorts its values."""
    return Function(
        name=name,
        parts=("frequencies" if summary == "mode" else "values",),
        result=VALUE if summary == "mode" else PERCENTILES,
        summary=summary,
        parameters=parameters,
        call_template=spelled,
    )


def _listagg(*, is_distinct: bool) -> Function:
    """Returns the row of `listagg`, ordered by the values themselves."""
    call = "listagg(DISTINCT {x}, {delimiter})" if is_distinct else "listagg({x}, {delimiter})"
    return Function(
        name="listagg_distinct" if is_distinct else "listagg",
        parts=("distinct" if is_distinct else "frequencies",),
        result=TEXT,
        summary="ordered",
        parameters=(DELIMITER, ORDER),
        call_template=f"{call} WITHIN GROUP (ORDER BY {{x}} {{order}})",
        distinct_of="listagg" if is_distinct else None,
        aliases=() if is_distinct else ("string_agg",),
        # Bytes are joined as strings, which are bytes to Spark, too.
        summary_template="array_join(CAST({p} AS ARRAY<STRING>), "
        "coalesce(CAST({delimiter} AS STRING), ''))",
    )


def _sketch_of_hashes(name: str, summary: str, *parameters: str) -> Function:
    """Returns a function whose answer is a sketch of the hashes of distinct values."""
    return Function(
        name=name, parts=("distinct",), result=BYTES, summary=summary, parameters=parameters
    )


# An answer that is shorter than a sketch says what is wrong with the sketches it was made from.
_OF_THETAS = (
    "IF(length({p}) < 8, raise_error('[THETA_INVALID_INPUT_SKETCH_BUFFER] only valid Theta sketch "
    "buffers are supported as inputs'), {p})"
)
_OF_KLLS = (
    "IF(length({p}) < 8, raise_error('[KLL_INVALID_INPUT_SKETCH_BUFFER] only valid KLL sketch "
    "buffers are supported as inputs'), {p})"
)
_OF_HLLS = (
    "CASE length({p}) WHEN 0 THEN raise_error('[HLL_UNION_DIFFERENT_LG_K] sketches have different "
    "lgConfigK values, and allowDifferentLgConfigK is not true') WHEN 1 THEN raise_error("
    "'[HLL_INVALID_INPUT_SKETCH_BUFFER] only valid HLL sketch buffers are supported as inputs') "
    "ELSE {p} END"
)


def _mean(name: str, total: str, *aliases: str, arguments: int = 1) -> Function:
    """Returns the row of a mean: the part `total` divided by a count."""
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
        _distinct("bit_xor", "xor"),
        Function(name="collect_set", parts=("distinct",), result=VALUES, summary="values"),
        Function(
            name="collect_list",
            parts=("occurrences",),
            result=VALUES,
            summary="ordered",
            aliases=("array_agg",),
            has_undefined_order=True,
        ),
        replace(_distinct("collect_list", "values", VALUES), has_undefined_order=True),
        _listagg(is_distinct=False),
        _listagg(is_distinct=True),
        _function_of_order("median", "percentile"),
        _function_of_order(
            "percentile", "percentile", "percentile({x}, {percentage})", "percentage"
        ),
        _function_of_order(
            "percentile_cont",
            "percentile",
            "percentile_cont({percentage}) WITHIN GROUP (ORDER BY {x} {order})",
            *("percentage", ORDER),
        ),
        _function_of_order(
            "percentile_disc",
            "discrete",
            "percentile_disc({percentage}) WITHIN GROUP (ORDER BY {x} {order})",
            *("percentage", ORDER),
        ),
        _function_of_order("mode", "mode", "mode() WITHIN GROUP (ORDER BY {x} {order})", ORDER),
        Function(
            name="approx_count_distinct",
            parts=("registers",),
            result=COUNT,
            parameters=("relative error",),
            check_parameters=parameters.register_bits,
        ),
        Function(
            name="approx_percentile",
            parts=("values",),
            result=PERCENTILES,
            summary="discrete",
            parameters=("percentage", "accuracy"),
            check_parameters=parameters.check_percentages,
            aliases=("percentile_approx",),
            is_approximate=True,
        ),
        Function(name="max_by", parts=("max_by",), arguments=2, answer_template="{p}.x"),
        Function(name="min_by", parts=("min_by",), arguments=2, answer_template="{p}.x"),
        Function(
            name="bitmap_construct_agg",
            parts=("distinct",),
            result=BYTES,
            summary="bitmap",
            # An answer of another length is a position that does not fit a bitmap.
            summary_template="IF(length({p}) < 4096, raise_error(concat("
            "'[INVALID_BITMAP_POSITION] Position ', CAST({p} AS STRING), "
            "' is out of bounds: a bitmap has 32768 bits')), {p})",
        ),
        Function(name="bitmap_or_agg", parts=("distinct",), result=BYTES, summary="bits_of_some"),
        Function(name="bitmap_and_agg", parts=("distinct",), result=BYTES, summary="bits_of_all"),
        Function(
            name="count_min_sketch",
            parts=("frequencies",),
            result=BYTES,
            summary="count_min",
            parameters=("eps", "confidence", "seed"),
            check_parameters=parameters.count_min,
        ),
        replace(
            _sketch_of_hashes("theta_sketch_agg", "theta", "lgNomEntries"),
            check_parameters=parameters.theta_bits,
        ),
        replace(
            _sketch_of_hashes("theta_union_agg", "united_theta", "lgNomEntries"),
            check_parameters=parameters.theta_bits,
            summary_template=_OF_THETAS,
        ),
        replace(
            _sketch_of_hashes("theta_intersection_agg", "common_theta"), summary_template=_OF_THETAS
        ),
        replace(
            _sketch_of_hashes("hll_sketch_agg", "hll", "lgConfigK"),
            check_parameters=parameters.hll_bits,
            is_approximate=True,
        ),
        replace(
            _sketch_of_hashes("hll_union_agg", "united_hll", "allowDifferentLgConfigK"),
            check_parameters=parameters.allows_different_sizes,
            summary_template=_OF_HLLS,
            is_approximate=True,
        ),
        *(
            Function(
                name=f"kll_{name}_agg_{kind}",
                parts=(part,),
                result=BYTES,
                summary=f"{summary}_{kind}",
                parameters=("k",),
                check_parameters=parameters.kll_accuracy,
                summary_template=finish,
                is_approximate=True,
            )
            for name, part, summary, finish in (
                ("sketch", "values", "kll", None),
                ("merge", "frequencies", "united_kll", _OF_KLLS),
            )
            for kind in ("bigint", "double", "float")
        ),
        Function(
            name="approx_top_k_accumulate",
            parts=("items", "nulls"),
            result=STATE,
            summary="items",
            parameters=("maxItemsTracked",),
            check_parameters=parameters.items_tracked,
            is_approximate=True,
        ),
        Function(
            name="approx_top_k",
            parts=("occurrences", "nulls"),
            result=ITEMS,
            summary="top",
            parameters=("k", "maxItemsTracked"),
            check_parameters=parameters.top_k,
            is_approximate=True,
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
