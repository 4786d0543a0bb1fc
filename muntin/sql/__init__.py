"""Text to queries: Spark SQL in, `Query` or `PlainQuery` out. The only importer of sqlglot."""

from muntin.sql.parse import parse_sql

__all__ = ["parse_sql"]
