"""Work on one key, split by time: parts that overlap in what they read, not in what they answer.

```
0         P         2P
[---------)              windows that part 0 answers begin here
[-------------)          slices that it reads: as far as its last windows reach
          [---------)    part 1 answers
          [-------------)
```
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from muntin.runtime.tree import BEGIN
from muntin.spark.slices import START

PART = "part"
# A part is so many times as long as the longest window: what is read twice is the inverse of it.
_LENGTH = 4


def part_width(longest: int) -> int:
    """How long a part is, for windows up to `longest`."""
    return _LENGTH * longest


def with_parts(slices: DataFrame, longest: int) -> DataFrame:
    """Each slice once for every part that reads it, under that part's begin."""
    width = part_width(longest)
    first, last = (
        f"{instant} - pmod({instant}, {width}L)"
        for instant in (f"({START} - {longest - 1}L)", START)
    )
    return slices.selectExpr("*", f"explode(sequence({first}, {last}, {width}L)) AS {PART}")


def own_answers(batches: Iterable[pa.RecordBatch], width: int) -> Iterator[pa.RecordBatch]:
    """The answers whose window begins in the part that computed them, without the part."""
    for batch in batches:
        begin, part = batch.column(BEGIN), batch.column(PART)
        mine = pc.and_(pc.greater_equal(begin, part), pc.less(begin, pc.add(part, width)))
        yield batch.filter(mine).drop_columns([PART])
