"""What runs the algorithms: combines compiled by numba, state in arrays, operations counted."""
