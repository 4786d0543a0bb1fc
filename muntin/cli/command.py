"""The command `muntin`: the table of verbs, and how errors are printed."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from muntin import __version__
from muntin.cli.explain import explain_verb
from muntin.cli.interrupt import INTERRUPTED, handle_interrupts
from muntin.cli.measure import calibrate_verb, compare_verb, demo_verb
from muntin.cli.options import with_option_groups
from muntin.cli.run import run_verb
from muntin.cli.stream import stream_verb
from muntin.cli.warmup import warmup_verb
from muntin.errors import MuntinError
from muntin.spark.error_text import error_line

app = typer.Typer(
    help="Many window aggregate queries over one stream, computed once, on Apache Spark.",
    epilog="Start with `muntin demo`; each verb has examples: `muntin run --help`.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# The function of each verb, and its line in the list of commands.
_VERBS: dict[str, tuple[Callable[..., None], str]] = {
    "explain": (explain_verb, "Show what queries share, and what it costs."),
    "run": (run_verb, "Answer queries over files, in one pass."),
    "compare": (compare_verb, "Your queries as plain Spark and as muntin: cost and equality."),
    "stream": (stream_verb, "Answer queries over files that keep coming."),
    "calibrate": (calibrate_verb, "Measure what costs are computed with, on this machine."),
    "warmup": (warmup_verb, "Compile what usual queries need, before they run."),
    "demo": (demo_verb, "See it work: plain Spark beside muntin."),
}
for _name, (_verb, _summary) in _VERBS.items():
    app.command(_name, short_help=_summary)(with_option_groups(_verb))


@app.callback(invoke_without_command=True)
def _show_help_or_version(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if show_version:
        print(f"muntin {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command of `muntin` and returns its exit code."""
    return run_command(app, "muntin", arguments)


def run_command(commands: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code: 0, 2 with the reason on stderr, 130 after Ctrl-C."""
    with handle_interrupts() as interrupt:
        try:
            code = commands(arguments, prog_name=name, standalone_mode=False)
            return code if isinstance(code, int) else 0
        except (KeyboardInterrupt, typer.Abort):
            return _end(name, "stopped", INTERRUPTED)
        except Exception as error:
            if interrupt.asked:
                return _end(name, "stopped", INTERRUPTED)
            line = _error_line(error)
            if line is None:
                raise
            return _end(name, line, 2)


def _end(name: str, line: str, code: int) -> int:
    print(f"{name}: {line}", file=sys.stderr)
    return code


def _error_line(error: Exception) -> str | None:
    """Returns the message of an error that the user can fix, or None for a bug in muntin."""
    if isinstance(error, MuntinError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    # Usage errors are classes of typer or of click, by version; both have this method.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        hint = f". See `{context.command_path} --help`." if context else ""
        return " ".join(error.format_message().split()).rstrip(".") + hint
    return error_line(error)
