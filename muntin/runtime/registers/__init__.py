"""The registers of HyperLogLog++, by which `approx_count_distinct` estimates as Spark does."""
