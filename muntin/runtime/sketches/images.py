"""What all kinds of sketches have in common as bytes: columns of them, and numbers in them."""

from typing import Any

import numpy as np
import pyarrow as pa

from muntin.runtime.value_sets.set_column import SetColumn
from muntin.techniques.compiled.compile import inlined


def images_of(column: SetColumn) -> pa.Array:
    """Returns the sketches that the codes of a column stand for."""
    values = column.coding.values
    return pa.array([], pa.large_binary()) if values is None else values.cast(pa.large_binary())


def _number_at(data: Any, start: Any, size: Any) -> Any:
    """Returns an integer of some bytes, the lowest first."""
    word = np.int64(0)
    for byte in range(size):
        word |= np.int64(data[start + byte]) << np.int64(8 * byte)
    return word


number_at = inlined(_number_at)
