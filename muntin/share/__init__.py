"""Workload to plan: slicing, costs and the optimizers, one file each. Imports no engine."""
