"""Factor Windows: the coverage graph, and windows added because others read them."""
