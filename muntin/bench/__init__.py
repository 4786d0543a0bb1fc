"""Workloads, the papers' experiments and side-by-side runs."""
