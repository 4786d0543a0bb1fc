"""Asks Spark for the types of all that the state of a stream depends on."""

from collections.abc import Sequence

from muntin.model.query import Query
from muntin.runtime.stream_plan.value_types import ValueTypes, read_by
from muntin.spark.binding.relations import Relations
from muntin.spark.stream.bound_stream_tree import BoundStreamTree
from muntin.sql_text import SqlText


def value_types(
    queries: Sequence[Query],
    trees: Sequence[BoundStreamTree],
    relations: Relations,
) -> ValueTypes:
    """Returns the types of times, keys, arguments and the columns of records, by their Spark SQL.

    Arguments take one analysis of Spark's for each relation; the other types are known. Where text
    means something else in a join, the type is that of the stream: so a join that is added makes no
    other query of one over the stream.
    """
    found: dict[SqlText, dict[str, str]] = {}
    for tree in trees:
        types = found.setdefault(tree.bound.tree.grouping.relation, {})
        for name, sql in tree.columns.items():
            types[sql] = tree.types[name].simpleString()
    for tree in trees:
        grouping = tree.bound.tree.grouping
        types = found.setdefault(grouping.relation, {})
        types[grouping.time] = tree.bound.time_type.simpleString()
        for key, field in zip(grouping.keys, tree.bound.keys, strict=True):
            types[key] = field.dataType.simpleString()
    others: dict[SqlText, dict[str, None]] = {}
    for query in queries:
        more = sorted(read_by(query) - found.get(query.source, {}).keys())
        others.setdefault(query.source, {}).update(dict.fromkeys(more))
    for relation, read in others.items():
        if read:
            items = ", ".join(f"({sql})" for sql in read)
            schema = relations.sql(relation.inside(f"SELECT {items} FROM ", "")).schema
            types = found.setdefault(relation, {})
            for sql, field in zip(read, schema.fields, strict=True):
                types[sql] = field.dataType.simpleString()
    merged: dict[str, str] = {}
    for relation in sorted(found, key=lambda each: (len(each.tables), str(each)), reverse=True):
        merged |= found[relation]
    return merged
