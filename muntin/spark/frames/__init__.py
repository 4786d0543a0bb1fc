"""DataFrames that a user has to queries: finds the `groupBy` with a window in each."""
