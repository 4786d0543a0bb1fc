"""Reads the DataFrames of Spark Connect, whose plans refer to columns by name."""
