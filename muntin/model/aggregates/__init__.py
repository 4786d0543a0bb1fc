"""Aggregates as algebra, and their partials."""
