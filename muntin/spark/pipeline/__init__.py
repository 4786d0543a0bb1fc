"""Pipelines: runs of a plan on a checkpoint, changes of queries, status."""
