"""The layout of partials in memory: one scalar, several, any object, or counted.

Partials of one scalar are in an array, of several in as many arrays, of any object in a list.
Algorithms call only `load`, `store`, `blank` and `same`, so that one source serves all of them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from muntin.techniques.kernels.bound_names import (
        plain_blank,
        plain_combine,
        plain_inverse,
        plain_load,
        plain_same,
        plain_store,
    )

Function = Callable[..., Any]


def load_one(values: Any, index: int) -> Any:
    """The partial at `index` of a column."""
    return values[index]


def store_one(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of a column."""
    values[index] = partial


def blank_one(values: Any, length: int) -> Any:
    """An uninitialised column like `values`."""
    return np.empty(length, values.dtype)


def load_two(values: Any, index: int) -> Any:
    """The partial at `index` of two columns."""
    return (values[0][index], values[1][index])


def store_two(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of two columns."""
    values[0][index], values[1][index] = partial


def blank_two(values: Any, length: int) -> Any:
    """Two uninitialised columns like `values`."""
    return (np.empty(length, values[0].dtype), np.empty(length, values[1].dtype))


def load_three(values: Any, index: int) -> Any:
    """The partial at `index` of three columns."""
    return (values[0][index], values[1][index], values[2][index])


def store_three(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of three columns."""
    values[0][index], values[1][index], values[2][index] = partial


def blank_three(values: Any, length: int) -> Any:
    """Three uninitialised columns like `values`."""
    return (
        np.empty(length, values[0].dtype),
        np.empty(length, values[1].dtype),
        np.empty(length, values[2].dtype),
    )


def load_five(values: Any, index: int) -> Any:
    """The partial at `index` of five columns."""
    return (
        values[0][index],
        values[1][index],
        values[2][index],
        values[3][index],
        values[4][index],
    )


def store_five(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of five columns."""
    values[0][index], values[1][index], values[2][index] = partial[0], partial[1], partial[2]
    values[3][index], values[4][index] = partial[3], partial[4]


def blank_five(values: Any, length: int) -> Any:
    """Five uninitialised columns like `values`."""
    return (
        np.empty(length, values[0].dtype),
        np.empty(length, values[1].dtype),
        np.empty(length, values[2].dtype),
        np.empty(length, values[3].dtype),
        np.empty(length, values[4].dtype),
    )


def load_six(values: Any, index: int) -> Any:
    """The partial at `index` of six columns."""
    return (
        values[0][index],
        values[1][index],
        values[2][index],
        values[3][index],
        values[4][index],
        values[5][index],
    )


def store_six(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index` of six columns."""
    values[0][index], values[1][index], values[2][index] = partial[0], partial[1], partial[2]
    values[3][index], values[4][index], values[5][index] = partial[3], partial[4], partial[5]


def blank_six(values: Any, length: int) -> Any:
    """Six uninitialised columns like `values`."""
    return (
        np.empty(length, values[0].dtype),
        np.empty(length, values[1].dtype),
        np.empty(length, values[2].dtype),
        np.empty(length, values[3].dtype),
        np.empty(length, values[4].dtype),
        np.empty(length, values[5].dtype),
    )


def blank_object(values: Any, length: int) -> Any:
    """A list of `length` places."""
    return [None] * length


def same_value(a: Any, b: Any) -> Any:
    """Whether two partials are equal; NaN equals NaN."""
    return a == b or (a != a and b != b)


# The functions that read, write and allocate partials, by their number of scalars.
LAYOUTS: dict[int, dict[str, Function]] = {
    1: {"load": load_one, "store": store_one, "blank": blank_one, "same": same_value},
    2: {"load": load_two, "store": store_two, "blank": blank_two, "same": same_value},
    3: {"load": load_three, "store": store_three, "blank": blank_three, "same": same_value},
    5: {"load": load_five, "store": store_five, "blank": blank_five, "same": same_value},
    6: {"load": load_six, "store": store_six, "blank": blank_six, "same": same_value},
}
# Partials that are any Python object, in a list.
OBJECTS: dict[str, Function] = {
    "load": load_one,
    "store": store_one,
    "blank": blank_object,
    "same": same_value,
}


# Counted: `values` is (values, tally), and every partial carries the same tally. So a combine finds
# the tally in its operands, also in machine code, where globals are constants.


def combine_counted(older: Any, newer: Any) -> Any:
    """Combine, and add one to the first tally."""
    older[1][0] += 1
    return (plain_combine(older[0], newer[0]), older[1])


def inverse_counted(total: Any, oldest: Any) -> Any:
    """Take away, and add one to the second tally."""
    total[1][1] += 1
    return (plain_inverse(total[0], oldest[0]), total[1])


def load_counted(values: Any, index: int) -> Any:
    """The partial at `index`, with the tally."""
    return (plain_load(values[0], index), values[1])


def store_counted(values: Any, index: int, partial: Any) -> None:
    """Put a partial at `index`; its tally is everyone's."""
    plain_store(values[0], index, partial[0])


def blank_counted(values: Any, length: int) -> Any:
    """Room for partials under the same tally."""
    return (plain_blank(values[0], length), values[1])


def same_counted(a: Any, b: Any) -> Any:
    """Whether two partials are equal; asking is not an operation."""
    return plain_same(a[0], b[0])


COUNTED: dict[str, Any] = {
    "combine": combine_counted,
    "inverse": inverse_counted,
    "load": load_counted,
    "store": store_counted,
    "blank": blank_counted,
    "same": same_counted,
}
