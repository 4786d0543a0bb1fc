"""The interface of storages: everything that the runtime does with the partials of a component.

A storage makes partials from events, combines them, folds them over the rows of windows, reads and
writes them as Arrow columns, and lowers them to answers. Each class is the running half of a class
in `aggregates.representations`; `storage.table` pairs them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from muntin.aggregates.aggregate import Aggregate, Component
from muntin.aggregates.monoids import Monoid
from muntin.aggregates.representations import FLOAT, INTEGER, Representation
from muntin.runtime.columns.distinct import Groups
from muntin.runtime.columns.partials import Bools, Column, Int64s


class Folding(Protocol):
    """A column of partials, prepared once to be folded over the rows of any number of windows."""

    def over(self, lows: Int64s, highs: Int64s, technique: str) -> Column:
        """Returns the aggregates of rows `[lows[i], highs[i])`, not empty; no bound decreases."""

    def over_few(self, picked: Int64s, firsts: Int64s, technique: str) -> Column:
        """Returns the aggregates of picked rows, `picked[firsts[i] : firsts[i + 1]]` each."""


@dataclass(frozen=True, kw_only=True)
class ComponentStorage(ABC):
    """The partials of a component: the type of their values, and their columns of the slices."""

    component: Component
    # `INTEGER`, `FLOAT`, or the name of a type in Spark SQL.
    value_type: str
    representation: Representation
    columns: tuple[str, ...]

    # Whether a store of slices combines the partials of data windows; else a sweep over records.
    is_cut: ClassVar[bool] = True
    # Whether the finest slices of many trees can be folded into theirs.
    is_foldable: ClassVar[bool] = False

    @property
    def monoid(self) -> Monoid:
        """The monoid by which partials combine."""
        return self.representation.monoid

    @property
    def arrow_type(self) -> pa.DataType:
        """Arrow type of its columns when every value is null."""
        return pa.null()

    @property
    def has_superseded(self) -> bool:
        """Whether slices may lose values that occur again in later slices of their key."""
        return False

    @property
    def cut_monoid(self) -> tuple[Monoid, Any]:
        """The monoid by which a store of slices combines partials, and the type of its scalars."""
        return self.monoid, np.int64

    @abstractmethod
    def read(self, batch: pa.RecordBatch) -> Column:
        """Returns partials from their columns of the slices."""

    @abstractmethod
    def write(self, column: Any) -> dict[str, pa.Array]:
        """Returns partials as their columns of the slices."""

    @abstractmethod
    def lift(self, batch: pa.RecordBatch, names: Sequence[str]) -> Any:
        """Returns the values of a batch of events for `combine`; None if each event counts as 1.

        `names` are the columns of the component's arguments, null where its filter excludes an
        event; without names, every event counts.
        """

    def lift_partials(self, batch: pa.RecordBatch) -> Any:
        """Returns the partials of a batch of finer slices for `combine`."""
        return self.read(batch)

    @abstractmethod
    def combine(self, lifted: Any, groups: Groups) -> Column:
        """Returns the partial of each group of rows, from what `lift` returned."""

    @abstractmethod
    def lift_records(self, batch: pa.RecordBatch, names: Sequence[str]) -> Column:
        """Returns the partial of each record of a batch; see `lift` for `names`."""

    def missing_partials(self, rows: int) -> Column:
        """Returns `rows` partials of no values."""
        nothing = dict.fromkeys(self.columns, pa.nulls(rows, self.arrow_type))
        return self.read(pa.RecordBatch.from_pydict(nothing))

    @abstractmethod
    def folding(self, column: Any, keys: Int64s) -> Folding:
        """Prepares partials to be folded; `keys` has the number of each row's key."""

    @abstractmethod
    def lower(self, aggregate: Aggregate, columns: Sequence[Any]) -> tuple[pa.Array, ...]:
        """Returns the answers of an aggregate whose first component this is, a column for each
        slot. `columns` has the partials of all its components."""

    def answer_type(self, aggregate: Aggregate) -> tuple[str, int]:
        """Returns the type of an aggregate's answers, and how many slots each takes."""
        return self.value_type, 1

    def to_state(self, column: Any) -> dict[str, Any]:
        """Returns partials as columns of a stream's state, under labels."""
        return {str(index): values for index, values in enumerate(self.write(column).values())}

    def from_state(self, columns: Mapping[str, pa.Array]) -> Column:
        """Returns the partials that `to_state` wrote."""
        named = {name: columns[str(index)] for index, name in enumerate(self.columns)}
        return self.read(pa.RecordBatch.from_pydict(named))

    def without_superseded(
        self, batch: pa.RecordBatch, keys: np.ndarray, count: int, is_passed: Bools
    ) -> dict[str, pa.Array]:
        """Returns its columns of ordered slices without values that occur again in a later row.

        Called only if `has_superseded`. `keys` has the number of each row's key, below `count`;
        only occurrences in rows of `is_passed` remove earlier ones.
        """
        raise NotImplementedError


def number_type(value_type: str) -> pa.DataType:
    """Returns the Arrow type of integers or floats, and null's for any other type."""
    return {INTEGER: pa.int64(), FLOAT: pa.float64()}.get(value_type, pa.null())
