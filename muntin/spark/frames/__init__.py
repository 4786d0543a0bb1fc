"""Reads a user's DataFrames as queries: finds the `groupBy` with a window in each."""
