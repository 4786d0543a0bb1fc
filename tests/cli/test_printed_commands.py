"""Every command that is printed somewhere can be given as it stands there."""

import re
import shlex

import pytest
from typer.main import get_command

from benchmarks.__main__ import bench
from muntin.cli import app
from tests.support.pages import PAGES, blocks

# The commands that pages and help texts show, by the words that start them.
COMMANDS = {"muntin": get_command(app), "python -m benchmarks": get_command(bench)}


def in_pages() -> list[tuple[str, str]]:
    """The commands in blocks of code, also those that are not run."""
    return [
        (block.place, command)
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh"
        for command in block.commands
        if re.match(f"({'|'.join(COMMANDS)}) [a-z]", command)
    ]


def in_help() -> list[tuple[str, str]]:
    """The examples of every verb."""
    return [
        (f"{program} {name} --help", command)
        for program, top in COMMANDS.items()
        for name, verb in top.commands.items()
        for command in re.findall(rf"^ *\$ ({program} .*)$", _lines(verb.help), re.MULTILINE)
    ]


def _lines(text: str | None) -> str:
    """A text in which a line that ends in a backslash goes on with the next."""
    return (text or "").replace("\\\n", " ")


@pytest.mark.parametrize(("where", "command"), [*in_pages(), *in_help()])
def test_a_printed_command_can_be_given(where, command):
    name = next(program for program in COMMANDS if command.startswith(program))
    arguments = shlex.split(command.removeprefix(name).split(" > ")[0], comments=True)
    verb, context = COMMANDS[name], None
    while hasattr(verb, "commands"):
        context = verb.context_class(verb, info_name=name, parent=context)
        name, verb, arguments = verb.resolve_command(context, arguments)
    # Parses the arguments, and raises for one that there is not.
    verb.make_context(name, arguments, parent=context)


def test_there_are_commands_to_give():
    assert len(in_pages()) > 5
    assert len(in_help()) > 10
