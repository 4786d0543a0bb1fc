"""Joins that differ only in how far apart two times may be: one join that serves them all."""

from muntin.sql.joins.widen_joins import widen_joins

__all__ = ["widen_joins"]
