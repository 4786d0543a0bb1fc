"""Sketches of windows, made of sets of values, in the bytes that Spark's functions read."""
