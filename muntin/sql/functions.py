"""Names of Spark functions, and the sets of names that decide whether a statement can share."""

from importlib.resources import files

from muntin.aggregates.table import SPELLINGS
from muntin.sql.tokens import calls, tokenize


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What `SHOW FUNCTIONS` lists in Spark 4.3, without operators. A test compares the two.
LISTED_FUNCTIONS = _names(files("muntin.sql").joinpath("spark_functions.txt").read_text())
# Calls of Spark's grammar that `SHOW FUNCTIONS` does not list are functions, too.
SPARK_FUNCTIONS = LISTED_FUNCTIONS | _names(
    "identifier timediff timestampadd timestampdiff try_cast"
)
# Words that may come before a bracket without being a function.
NO_FUNCTIONS = _names("else escape from is then character dec numeric varchar where")

# Spark 4.3's aggregate functions that are not built from slices.
UNSHARED = _names(
    """
    any_value approx_top_k_combine collect_union first first_value grouping
    grouping_id histogram_numeric last last_value measure product schema_of_variant_agg try_avg
    try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer
    """
)

AGGREGATES = UNSHARED | SPELLINGS.keys()

# Aggregates whose answer depends on the order in which rows arrive.
_BY_ARRIVAL = _names(
    """
    any_value array_agg collect_list first first_value last last_value listagg string_agg
    """
)

# Aggregates whose answer is the value of some row.
OF_ANY_ROW = _names("any_value first first_value last last_value")

# Functions of a list whose answers do not depend on its order, and those of them that may have a
# second argument.
ORDERLESS = _names("array_contains array_max array_min array_size array_sort cardinality size") | {
    "sort_array"
}
_WITH_MORE = _names("array_contains sort_array")

# Functions whose values differ from run to run, or depend on how Spark splits the work.
UNSTABLE = _names(
    """
    input_file_block_length input_file_block_start input_file_name monotonically_increasing_id
    rand randn random randstr shuffle spark_partition_id uniform uuid
    """
)

# Functions that make several rows of one, or several columns of one item.
GENERATORS = _names(
    """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack
    variant_explode variant_explode_outer
    """
)


def reason_not_shared(name: str) -> str:
    """Returns why calls of an aggregate function are left to Spark."""
    if name in _BY_ARRIVAL:
        return "depends on the order in which rows arrive, which slices do not keep"
    return "is not built from slices"


def is_orderless(function: str, *, has_more: bool) -> bool:
    """Whether the answer of a function of a list does not depend on the order of the list;
    `has_more` is whether the call has more arguments."""
    return function in (_WITH_MORE if has_more else ORDERLESS)


def called_functions(text: str) -> set[str]:
    """Returns the functions that an expression calls, in lower case."""
    return {name for _, name in calls(tokenize(text))} - NO_FUNCTIONS
