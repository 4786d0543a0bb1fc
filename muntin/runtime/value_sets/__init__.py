"""Sets of values: columns of them, and the sets of windows that sweeps answer from."""
