"""Measures: makes events, takes turns, reads CPU and memory, prints tables, draws pictures."""
