"""Work on few keys, split by time: parts that overlap in what they read, not in what they answer.

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

from muntin.model.plan import Slicing
from muntin.model.time import SECOND
from muntin.runtime.periodic.tree import BEGIN
from muntin.spark.batch.slices import START

# A name that no column of the user's has.
PART = "muntin_part"
# A part is so many times as long as the longest window: what is read twice is the inverse of it.
_LENGTH = 4
# It is longer where that is less than so many slices, which would not keep a core busy.
_SLICES = 1 << 14
# With so many keys for each core, chance gives all cores about as much to do.
_KEYS_PER_CORE = 4


@dataclass(frozen=True, kw_only=True)
class TimeSplit:
    """Parts of so many microseconds, for windows that are at most as long as `longest`."""

    width: int
    longest: int


def parts(slicing: Slicing, longest: int, *, keys: float | None, cores: int) -> TimeSplit | None:
    """How time is split; none where the keys, if it is known how many live, can use all cores."""
    if keys is None or keys >= _KEYS_PER_CORE * cores:
        return None
    width = max(_LENGTH * longest, int(_SLICES * SECOND / slicing.rate))
    return TimeSplit(width=width, longest=longest)


def with_parts(slices: DataFrame, split: TimeSplit) -> DataFrame:
    """Each slice once for every part that reads it, under that part's begin."""
    return slices.selectExpr("*", f"{parts_of(START, split)} AS {PART}")


def parts_of(instant: str, split: TimeSplit) -> str:
    """SQL for a row for every part that reads what happens at an instant: that part's begin."""
    first, last = (
        f"{one} - pmod({one}, {split.width}L)"
        for one in (f"({instant} - {split.longest - 1}L)", f"({instant})")
    )
    return f"explode(sequence({first}, {last}, {split.width}L))"


def own_answers(batches: Iterable[pa.RecordBatch], split: TimeSplit) -> Iterator[pa.RecordBatch]:
    """The answers whose window begins in the part that computed them, without the part."""
    for batch in batches:
        begin, part = batch.column(BEGIN), batch.column(PART)
        mine = pc.and_(pc.greater_equal(begin, part), pc.less(begin, pc.add(part, split.width)))
        yield batch.filter(mine).drop_columns([PART])
