"""Costs of plans: the model, operations per slice, lower bounds."""
