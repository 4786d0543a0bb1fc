"""Benchmarks: sets of queries on Spark, and the experiments of the papers."""
