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

import pyarrow as pa
import pyarrow.compute as pc

from muntin.model.slicing import Slicing
from muntin.model.time import SECOND
from muntin.runtime.periodic.tree import BEGIN
from muntin.runtime.slicer.packing import PART

# A part is this many times as long as the longest window, so one in so many slices is read twice.
_LENGTH = 4
# A part has at least this many slices, as fewer would not keep a core busy.
_SLICES = 1 << 14
# With this many keys for each core, all cores have about as much to do.
_KEYS_PER_CORE = 4


def part_width(slicing: Slicing, longest: int, *, keys: float | None, cores: int) -> int | None:
    """Returns the length of parts; None if the keys can use all cores, or their number is unknown.

    `longest` is the size of the longest window. Both are in microseconds.
    """
    if keys is None or keys >= _KEYS_PER_CORE * cores:
        return None
    return max(_LENGTH * longest, int(_SLICES * SECOND / slicing.rate))


def own_answers(batches: Iterable[pa.RecordBatch], width: int) -> Iterator[pa.RecordBatch]:
    """Yields the answers whose window begins in the part that computed them."""
    for batch in batches:
        begin, part = batch.column(BEGIN), batch.column(PART)
        mine = pc.and_(pc.greater_equal(begin, part), pc.less(begin, pc.add(part, width)))
        yield batch.filter(mine).drop_columns([PART])
