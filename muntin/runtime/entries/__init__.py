"""Partials that are sets of values: columns of entries, how they unite, and what sums them up."""
