"""Splits work on few keys by time: parts overlap in what they read, not in what they answer.

```
0         P         2P
[---------)              windows that part 0 answers begin here
[-------------)          slices that it reads: as far as its last windows reach
          [---------)    part 1 answers
          [-------------)
```
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from muntin.model.slicing import Slicing
from muntin.model.time import SECOND
from muntin.runtime.periodic.tree import BEGIN
from muntin.spark.batch.slices import START

# A name that no column of the user's has.
PART = "muntin_part"
# A part is this many times as long as the longest window, so one in so many slices is read twice.
_LENGTH = 4
# A part has at least this many slices, as fewer would not keep a core busy.
_SLICES = 1 << 14
# With this many keys for each core, all cores have about as much to do.
_KEYS_PER_CORE = 4


@dataclass(frozen=True, kw_only=True)
class TimeSplit:
    """Parts of `width` microseconds, for windows that are at most `longest` long."""

    width: int
    longest: int


def parts(slicing: Slicing, longest: int, *, keys: float | None, cores: int) -> TimeSplit | None:
    """Returns how time is split; None if the keys can use all cores, or their number is unknown."""
    if keys is None or keys >= _KEYS_PER_CORE * cores:
        return None
    width = max(_LENGTH * longest, int(_SLICES * SECOND / slicing.rate))
    return TimeSplit(width=width, longest=longest)


def with_parts(slices: DataFrame, split: TimeSplit) -> DataFrame:
    """Returns each slice once for every part that reads it, with that part's begin."""
    return slices.selectExpr("*", f"{parts_of(START, split)} AS {PART}")


def parts_of(instant: str, split: TimeSplit) -> str:
    """Returns SQL that makes a row for every part that reads an instant: that part's begin."""
    first, last = (
        f"{moment} - pmod({moment}, {split.width}L)"
        for moment in (f"({instant} - {split.longest - 1}L)", f"({instant})")
    )
    return f"explode(sequence({first}, {last}, {split.width}L))"


def own_answers(batches: Iterable[pa.RecordBatch], split: TimeSplit) -> Iterator[pa.RecordBatch]:
    """Yields the answers whose window begins in the part that computed them."""
    for batch in batches:
        begin, part = batch.column(BEGIN), batch.column(PART)
        mine = pc.and_(pc.greater_equal(begin, part), pc.less(begin, pc.add(part, split.width)))
        yield batch.filter(mine).drop_columns([PART])
