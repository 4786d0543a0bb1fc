"""The checkpoint of a stream: its plans, its owner, Spark's logs, and whether all is there."""
