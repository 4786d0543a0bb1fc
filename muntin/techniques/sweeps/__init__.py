"""Sweeps: windows over sets of values, answered entry by entry in the order of their slices.

A slice has an entry for each of its values. No sweep makes the set of a window: an entry is handled
a fixed number of times for all windows of one size and slide, however long these are.
"""
