"""DataFrames of a session with a JVM: plans that Spark has resolved."""
