"""Plans on Apache Spark. The only package that imports pyspark."""
