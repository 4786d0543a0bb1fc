"""What a bucket of keys keeps between two batches of a stream."""
