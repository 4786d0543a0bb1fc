"""Batch runs: slices, answers and `Results`."""
