"""Slices to answers: the compiled runtime over sorted Arrow batches, in Spark's Python workers."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from muntin.model.plan import Tree
from muntin.runtime.layout import Layout, all_slots
from muntin.runtime.tree import BEGIN, NODE, TreeRuntime
from muntin.spark.slices import START, Slices


def in_order(slices: Slices) -> DataFrame:
    """The slices with each key's in one partition, in order: what the runtime reads."""
    keys = slices.layout.key_columns
    whole = slices.frame.repartition(*keys) if keys else slices.frame.repartition(1)
    return whole.sortWithinPartitions(*keys, START)


def combine_compiled(tree: Tree, ordered: DataFrame, layout: Layout) -> DataFrame:
    """Answers of all queries of a tree: node number, keys, window begin, and the typed slots."""
    keys = [ordered.schema[name] for name in layout.key_columns]
    slots = [
        StructField(slot, LongType() if slot.startswith("i") else DoubleType())
        for slot in all_slots(tree, layout)
    ]
    schema = StructType(
        [StructField(NODE, IntegerType(), False), *keys, StructField(BEGIN, LongType()), *slots]
    )
    _same_python(ordered.sparkSession)
    columns = [*layout.key_columns, START, *(name for one in layout.kept for name in one.columns)]
    return ordered.select(*columns).mapInArrow(partial(_run, tree=tree, layout=layout), schema)


def _same_python(session: SparkSession) -> None:
    """In local mode, have the workers run this interpreter, unless the user chose one.

    Spark's own default is whatever `python3` is first on the path, which need not have muntin.
    """
    context = session.sparkContext
    if re.fullmatch(r"local(\[.*\])?", context.master or ""):
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)


def _run(
    batches: Iterable[pa.RecordBatch], *, tree: Tree, layout: Layout
) -> Iterator[pa.RecordBatch]:
    return TreeRuntime(tree, layout).run(batches)
