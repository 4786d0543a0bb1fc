"""Generated workloads and data. They favour what breaks window aggregation."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from muntin.aggregates.aggregate import Aggregate
from muntin.aggregates.table import FUNCTIONS
from muntin.model.grouping_sets import grouping, grouping_id
from muntin.model.query import Query
from muntin.model.windows import CumulateWindow, Window

SCHEMA = StructType(
    [
        StructField("ts", TimestampType()),
        StructField("local", TimestampNTZType()),
        StructField("k", StringType()),
        StructField("g", DoubleType()),
        StructField(
            "nested",
            StructType(
                [StructField("a", IntegerType()), StructField("b", ArrayType(DoubleType()))]
            ),
        ),
        StructField("i", IntegerType()),
        StructField("small", ShortType()),
        StructField("big", LongType()),
        StructField("x", DoubleType()),
        StructField("f", FloatType()),
        StructField("flag", BooleanType()),
        StructField("s", StringType()),
        StructField("d", DecimalType(12, 3)),
        StructField("day", DateType()),
        StructField("nothing", DoubleType()),
    ]
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Clusters of instants: around 1970, before it, far apart, at a change of clocks.
_CENTRES = [0, -3_000_000, -2_000_000_000_000_000, 1_700_000_000_000_000, 1_710_054_000_000_000]

instants = st.builds(
    lambda centre, unit, steps: centre + unit * steps,
    st.sampled_from(_CENTRES),
    st.sampled_from([1, 500_000, 1_000_000, 60_000_000]),
    st.integers(-20, 20),
)

doubles = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e16, float("nan"), float("inf"), float("-inf")]),
    st.integers(-50, 50).map(lambda n: n / 4),
)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


@st.composite
def rows(draw: st.DrawFn) -> tuple[Any, ...]:
    when = EPOCH + timedelta(microseconds=draw(instants))
    no_time = draw(st.integers(0, 19)) == 0
    return (
        None if no_time else when,
        None if no_time else when.replace(tzinfo=None),
        draw(maybe(st.sampled_from(["a", "b", "ü", "日本", ""]))),
        draw(st.sampled_from([None, 0.0, -0.0, float("nan"), 1.0])),
        draw(
            maybe(
                st.tuples(
                    maybe(st.integers(0, 1)),
                    maybe(st.lists(st.sampled_from([None, 1.0, float("nan")]), max_size=2)),
                )
            )
        ),
        draw(maybe(st.integers(-(2**31), 2**31 - 1))),
        draw(maybe(st.integers(-5, 5))),
        # Of one sign, so that a sum overflows in every order of addition or in none.
        draw(maybe(st.sampled_from([0, 1, 7, 2**61, 2**62, 2**63 - 1]))),
        draw(doubles),
        draw(maybe(st.sampled_from([0.5, -1.25, float("nan"), float("inf"), 3.0]))),
        draw(maybe(st.booleans())),
        draw(maybe(st.one_of(st.sampled_from(["1", "2"]), st.text(max_size=3)))),
        draw(maybe(st.integers(-(10**6), 10**6).map(lambda n: Decimal(n) / 1000))),
        draw(maybe(st.dates(date(1960, 1, 1), date(2030, 1, 1)))),
        None,
    )


@st.composite
def windows(draw: st.DrawFn) -> Window:
    unit = draw(st.sampled_from([1, 1000, 1_000_000, 60_000_000, 7 * 86_400_000_000]))
    slide = draw(st.integers(1, 12))
    if draw(st.integers(0, 4)) == 0:
        size = slide * draw(st.integers(2, 12)) * unit
        offset = draw(st.one_of(st.just(0), st.integers(0, size - 1)))
        return CumulateWindow(size=size, slide=slide * unit, offset=offset)
    size = draw(st.one_of(st.just(slide), st.integers(slide, slide * 12)))
    offset = draw(st.one_of(st.just(0), st.integers(0, slide * unit - 1)))
    return Window(size=size * unit, slide=slide * unit, offset=offset)


_ARGUMENTS = {
    "count": ["x", "s", "k", None, "nothing"],
    "count_if": ["i > 0", "flag", "x IS NULL"],
    "sum": ["i", "big", "x", "small", "f", "d", "nothing", "i / 2"],
    "avg": ["i", "big", "x", "f", "d", "nothing"],
    "min": ["i", "x", "s", "d", "day", "flag", "f", "small", "nothing", "ts", "nested"],
    "max": ["i", "x", "s", "d", "day", "flag", "f", "big", "nothing", "length(s)"],
    "var_samp": ["i", "x", "small", "d"],
    "var_pop": ["small", "x", "f"],
    "stddev_samp": ["small", "i"],
    "stddev_pop": ["x", "small", "nothing"],
    "bool_or": ["flag", "i > 0"],
    "bool_and": ["flag", "x < 2"],
    "bit_and": ["i", "big"],
    "bit_or": ["i", "length(s)"],
    "bit_xor": ["i", "big"],
    "count_distinct": ["s", "x", "nested", "i % 3", "d", "flag", "nothing", "f", "day"],
    "sum_distinct": ["i", "big", "small", "nothing"],
    "avg_distinct": ["i", "small", "nothing"],
    "bit_xor_distinct": ["i", "big"],
    "median": ["x", "i", "d", "nothing"],
    "percentile": ["big", "x", "f", "small"],
    "percentile_cont": ["x", "i"],
    "percentile_disc": ["x", "small", "nothing"],
    "mode": ["s", "x", "i % 3", "d", "flag", "day", "nothing"],
    "approx_count_distinct": ["i", "x", "s", "d", "nothing"],
    "bitmap_construct_agg": ["abs(small)", "length(s)"],
    "bitmap_or_agg": ["CAST(s AS BINARY)"],
    "count_min_sketch": ["i", "big", "s", "CAST(s AS BINARY)"],
}
_PERCENTAGES = ["0.5", "0.95", "array(0.0, 0.3, 1)"]
# The parameters of calls, one choice of each.
_PARAMETERS = {
    "percentile": [_PERCENTAGES],
    "percentile_cont": [_PERCENTAGES, ["ASC", "DESC"]],
    "percentile_disc": [_PERCENTAGES, ["ASC", "DESC"]],
    "mode": [["ASC", "DESC"]],
    "count_min_sketch": [["0.3D", "0.05D"], ["0.5D", "0.9D"], ["0", "-3"]],
}
_PAIRS = ["regr_count", "regr_sxx", "regr_syy"]
_OF_PAIRS = ["i", "small", "d", "nothing"]
# These are near zero as often as not, where what is right depends on the order of adding: they have
# a test of their own, `test_aggregate_table.py`.
_SIGNED = {"skewness", "kurtosis", "corr"}
# The order of their elements is not determined; see `test_sets_of_values.py` and `test_lists.py`.
_UNORDERED = {"collect_set", "collect_list", "collect_list_distinct"}
# Beside calls with DISTINCT of several columns, Spark itself fails; see `test_lists.py`.
_TEXTS = {"listagg", "listagg_distinct"}
# Spark has these from 4.1 on; see `test_sketches.py`.
_LATER = {"bitmap_and_agg", "theta_sketch_agg", "theta_union_agg", "theta_intersection_agg"}
# Which of several rows Spark chooses is not determined.
_CHOSEN = {"max_by", "min_by"}
assert {*_ARGUMENTS, *_PAIRS} == {
    name
    for name, row in FUNCTIONS.items()
    if (not name.startswith(("covar", "regr")) or name in _PAIRS) and not row.is_approximate
} - _SIGNED - _UNORDERED - _TEXTS - _LATER - _CHOSEN


@st.composite
def aggregates(draw: st.DrawFn) -> Aggregate:
    function = draw(st.sampled_from([*sorted(_ARGUMENTS), *_PAIRS]))
    is_pair = function in _PAIRS
    return Aggregate(
        function=function,
        argument=draw(st.sampled_from(_OF_PAIRS if is_pair else _ARGUMENTS[function])),
        others=(draw(st.sampled_from(_OF_PAIRS)),) if is_pair else (),
        where=draw(st.sampled_from([None, None, None, "i > 0", "flag"])),
        parameters=tuple(draw(st.sampled_from(each)) for each in _PARAMETERS.get(function, [])),
    )


_KEYS = [[], ["k"], ["k"], ["k", "g"], ["nested"], ["i % 2"], ["g", "k"], ["g"], ["flag", "k"]]
# Filters by an argument that they guard, and filters that guard nothing.
_GUARDS = {
    None: [None, None, "x > 0", "i IS NOT NULL", "flag", "x > 0 AND i IS NOT NULL", "k = 'a'"],
    "10 / small": ["small <> 0", "small > 0 AND x > 0", "small <> 0 AND 10 / small > 3"],
    "CAST(s AS INT)": ["s IN ('1', '2')"],
}


def grouping_sets(keys: list[str]) -> st.SearchStrategy[list[list[str]]]:
    """Sets of keys, some of them twice."""
    return st.lists(st.lists(st.sampled_from(keys), unique=True), min_size=1, max_size=4)


@st.composite
def queries(draw: st.DrawFn, name: str) -> Query:
    asked = draw(st.lists(aggregates(), min_size=1, max_size=3))
    guard = draw(st.sampled_from([None, None, None, *(text for text in _GUARDS if text)]))
    keys = {f"key{index}": key for index, key in enumerate(draw(st.sampled_from(_KEYS)))}
    sets = draw(grouping_sets(sorted(keys))) if keys and draw(st.integers(0, 7)) == 0 else None
    if guard is not None:
        # An argument that fails where the filter does not hold, with ANSI on.
        asked.append(Aggregate(function=draw(st.sampled_from(["max", "sum"])), argument=guard))
    return Query(
        name=name,
        window=draw(windows()),
        aggregates={f"a{index}": aggregate for index, aggregate in enumerate(asked)},
        keys=keys,
        sets=sets,
        marks={"mark": grouping("key0"), "id": grouping_id()} if sets else {},
        time=draw(st.sampled_from(["ts", "ts", "ts", "local"])),
        where=draw(st.sampled_from(_GUARDS[guard])),
    )


@st.composite
def workloads(draw: st.DrawFn, *, most: int = 4) -> list[Query]:
    count = draw(st.integers(1, most))
    return [draw(queries(f"q{index}")) for index in range(count)]


tables = st.lists(rows(), max_size=40)


def may_overflow(query: Query) -> bool:
    """Whether a sum may be beyond 64 bits: Spark raises for that, and so would a whole job."""
    calls = query.aggregates.values()
    return any(call.function == "sum" and call.argument == "big" for call in calls)
