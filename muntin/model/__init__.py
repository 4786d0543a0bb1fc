"""Frozen nouns: durations, windows, aggregates, queries, plans. Standard library only."""
