"""Slicing: the edges of windows, and where to cut the stream."""
