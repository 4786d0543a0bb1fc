"""A tree that is bound to its data: what trees of both kinds then know."""

from dataclasses import dataclass

from pyspark.sql.types import DataType, StructField

from muntin.model.any_tree import AnyTree
from muntin.spark.binding.grouping_sql import Types


@dataclass(frozen=True, kw_only=True)
class AnyBoundTree:
    """A tree and the Spark types of what it reads and answers."""

    tree: AnyTree
    time_type: DataType
    keys: tuple[StructField, ...]
    # Those of aggregates, and of the values of components that are sets of values.
    types: Types
