"""A tree that is bound to its data: what trees of both kinds then know."""

from dataclasses import dataclass

from pyspark.sql.types import DataType, StructField

from muntin.model.trees import Tree
from muntin.spark.binding.grouping_sql import Types


@dataclass(frozen=True, kw_only=True)
class BoundTree:
    """A tree and the Spark types of what it reads and answers."""

    tree: Tree
    time_type: DataType
    keys: tuple[StructField, ...]
    # Those of aggregates, and of the values of components that are sets of values.
    types: Types
