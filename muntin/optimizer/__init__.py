"""Turns a workload into a plan: slicing, costs and strategies, one file each; no engine."""
