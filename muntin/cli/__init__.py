"""The command line: each verb parses its arguments and calls one function of the library."""

from muntin.cli.command import app, main, run_command

__all__ = ["app", "main", "run_command"]
