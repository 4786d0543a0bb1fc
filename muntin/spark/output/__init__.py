"""Answers as the columns that users asked for."""
