"""Parses Spark SQL into queries. The only package that imports sqlglot."""

from muntin.sql.parse import parse_sql

__all__ = ["parse_sql"]
