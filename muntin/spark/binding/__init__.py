"""Binds plans to their data: relations, Spark's types, samples."""
