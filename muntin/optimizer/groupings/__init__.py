"""Which trees of a family, with their filters and keys, are made in one pass, and by whom."""
