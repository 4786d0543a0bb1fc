"""Weave Share: groups of windows merged while that saves, its cost lookup and incremental form."""
