"""Turns a workload into a plan: slicing, costs and optimizers, one file each; no engine."""
