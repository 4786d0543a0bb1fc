"""Benchmarks that run on Spark."""
