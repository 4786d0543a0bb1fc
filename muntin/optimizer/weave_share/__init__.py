"""Weave Share: merges groups of windows while that saves; its cost lookup and incremental form."""
