"""Immutable data types: durations, windows, aggregates, queries, plans. Standard library only."""
