"""The papers' experiments repeated, without Spark."""
