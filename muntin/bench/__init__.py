"""Benchmarks: the papers' experiments, and muntin beside plain Spark."""
