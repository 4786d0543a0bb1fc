"""Keys of every type that Spark groups by: strategies of nasty values, with their Arrow types."""

import datetime
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

NAN = float("nan")
UTC = datetime.UTC

floats = st.none() | st.sampled_from([NAN, -NAN, 0.0, -0.0, 1.5, float("inf")])
integers = st.none() | st.sampled_from([0, 1, -1, 127, -128])
words = st.none() | st.sampled_from(
    ["", "a", "b", "ab", "1234567", "12345678", "123456789", "ü" * 9]
)
days = st.none() | st.sampled_from([datetime.date(1969, 1, 1), datetime.date(2020, 2, 29)])
decimals = st.none() | st.sampled_from([Decimal("1.50"), Decimal("-1.50")])
lists = st.none() | st.lists(floats, max_size=3)
structs = st.none() | st.fixed_dictionaries({"a": floats, "b": lists, "c": words})
STRUCT = pa.struct([("a", pa.float64()), ("b", pa.list_(pa.float64())), ("c", pa.string())])


def instants(zone: datetime.timezone | None) -> st.SearchStrategy:
    return st.none() | st.sampled_from(
        [
            datetime.datetime(1969, 12, 31, 23, 59, tzinfo=zone),
            datetime.datetime(2001, 1, 1, tzinfo=zone),
        ]
    )


KEYS = {
    "byte": (integers, pa.int8()),
    "short": (integers, pa.int16()),
    "int": (integers, pa.int32()),
    "long": (integers | st.sampled_from([-(2**63), 2**63 - 1]), pa.int64()),
    "float": (floats, pa.float32()),
    "double": (floats, pa.float64()),
    "boolean": (st.none() | st.booleans(), pa.bool_()),
    "string": (words, pa.string()),
    "large string": (words, pa.large_string()),
    "binary": (st.none() | st.sampled_from([b"", b"\0", b"\0\0", b"x" * 20]), pa.binary()),
    "large binary": (st.none() | st.sampled_from([b"", b"\0", b"xy"]), pa.large_binary()),
    "decimal": (
        decimals,
        pa.decimal128(38, 2),
    ),
    "date": (days, pa.date32()),
    "timestamp": (instants(UTC), pa.timestamp("us", "UTC")),
    "timestamp_ntz": (instants(None), pa.timestamp("us")),
    "interval": (st.none() | st.just(datetime.timedelta(days=-1)), pa.duration("us")),
    "null": (st.none(), pa.null()),
    "list": (lists, pa.list_(pa.float64())),
    "list of strings": (st.none() | st.lists(words, max_size=3), pa.list_(pa.string())),
    "large list": (st.none() | st.lists(words, max_size=3), pa.large_list(pa.string())),
    "list of lists": (st.none() | st.lists(lists, max_size=3), pa.list_(pa.list_(pa.float64()))),
    "list of nulls": (st.none() | st.lists(st.none(), max_size=3), pa.list_(pa.null())),
    "struct": (structs, STRUCT),
    "list of structs": (st.none() | st.lists(structs, max_size=2), pa.list_(STRUCT)),
    "struct of struct": (
        st.none() | st.fixed_dictionaries({"s": structs}),
        pa.struct([("s", STRUCT)]),
    ),
    "struct of nothing": (st.none() | st.just({}), pa.struct([])),
}
