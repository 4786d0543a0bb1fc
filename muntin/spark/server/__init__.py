"""Runs a pipeline on a server of Spark Connect, whose files and batches the client does not see."""
