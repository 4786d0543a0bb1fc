"""Aggregates: their algebra, their table, and the partials that slices keep for them."""
