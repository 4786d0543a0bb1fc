"""Workload to plan: slicing, costs and the optimizers, one file each. No engine is imported here."""
