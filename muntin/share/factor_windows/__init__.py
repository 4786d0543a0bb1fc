"""Factor Windows: the coverage graph, and windows that are added because others read them."""
