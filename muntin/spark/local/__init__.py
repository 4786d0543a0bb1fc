"""Runs a pipeline whose JVM, files and batches this process reaches."""
