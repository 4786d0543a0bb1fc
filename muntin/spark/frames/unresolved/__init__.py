"""Reads the DataFrames of Spark Connect, whose plans have names where others have columns."""
