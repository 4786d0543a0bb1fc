"""The demo: a factory's dashboard, by plain Spark and by muntin, side by side."""
