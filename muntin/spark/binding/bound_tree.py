"""Trees that are bound to their data, and a plan of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import DataType, StructField

from muntin.aggregates.aggregate import Aggregate
from muntin.model.engine import Engine
from muntin.model.plan import Plan
from muntin.model.trees import DataTree, PeriodicTree, Tree
from muntin.spark.binding.grouping_sql import Types


@dataclass(frozen=True, kw_only=True)
class BoundTree:
    """A tree and the Spark types of what it reads and answers."""

    tree: Tree
    time_type: DataType
    keys: tuple[StructField, ...]
    # Those of aggregates, and of the values of components that are sets of values.
    types: Types


@dataclass(frozen=True, kw_only=True)
class BoundPeriodicTree(BoundTree):
    """A tree of periodic windows and its types."""

    tree: PeriodicTree
    # Who combines each aggregate: compiled code, or Spark where that does not take its types.
    engines: Mapping[Aggregate, Engine]


@dataclass(frozen=True, kw_only=True)
class BoundDataTree(BoundTree):
    """A tree of data windows and its types."""

    tree: DataTree


@dataclass(frozen=True, kw_only=True)
class BoundPlan:
    """A plan that can run on its data, with a bound tree for each of its trees, in their order."""

    plan: Plan
    trees: tuple[BoundTree, ...]

    @property
    def periodic_trees(self) -> tuple[BoundPeriodicTree, ...]:
        """The bound trees of periodic windows."""
        return tuple(tree for tree in self.trees if isinstance(tree, BoundPeriodicTree))

    @property
    def data_trees(self) -> tuple[BoundDataTree, ...]:
        """The bound trees of data windows."""
        return tuple(tree for tree in self.trees if isinstance(tree, BoundDataTree))
