"""Everything that asks Spark's JVM for more than PySpark offers."""
