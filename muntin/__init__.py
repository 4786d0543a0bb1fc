"""muntin: many window aggregate queries over one stream, computed once, on Apache Spark."""
