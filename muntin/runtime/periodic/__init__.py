"""Periodic windows: partials of slices to answers, node by node."""
