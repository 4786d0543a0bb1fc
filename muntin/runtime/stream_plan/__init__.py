"""The plan that runs on a stream, as data, and how it changes."""
