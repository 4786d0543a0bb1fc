"""Repeats the papers' experiments, without Spark."""
