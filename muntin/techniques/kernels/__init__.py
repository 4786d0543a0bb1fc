"""Runs the algorithms: compiles them with numba, keeps their state in arrays, counts operations."""
