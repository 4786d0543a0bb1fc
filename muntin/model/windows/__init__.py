"""Windows: periodic ones, and those found in the data."""
