"""Runs a tree in this process: sorted partials in, answers out, state that can be saved."""
