"""The checkpoint of a stream: its plans, its owner and Spark's logs."""
