"""Runs data windows in a stream, batch by batch, and keeps what is open in between."""
