"""Every command that is printed somewhere can be given as it stands there."""

import re
import shlex

import pytest
from typer.main import get_command

from muntin.cli import app
from tests.support.pages import PAGES, blocks


def in_pages() -> list[tuple[str, str]]:
    """The commands in blocks of code, also those that are not run."""
    return [
        (block.place, command)
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh"
        for command in block.commands
        if re.match("muntin [a-z]", command)
    ]


def in_help() -> list[tuple[str, str]]:
    """The examples of every verb."""
    top = get_command(app)
    verbs = {**top.commands, **top.commands["bench"].commands}
    return [
        (f"{name} --help", command)
        for name, verb in verbs.items()
        for command in re.findall(r"^ *\$ (muntin .*)$", verb.help or "", re.MULTILINE)
    ]


@pytest.mark.parametrize(("where", "command"), [*in_pages(), *in_help()])
def test_a_printed_command_can_be_given(where, command):
    name, *arguments = shlex.split(command.split(" > ")[0], comments=True)
    verb, context = get_command(app), None
    while hasattr(verb, "commands"):
        context = verb.context_class(verb, info_name=name, parent=context)
        name, verb, arguments = verb.resolve_command(context, arguments)
    # Parses the arguments, and raises for one that there is not.
    verb.make_context(name, arguments, parent=context)


def test_there_are_commands_to_give():
    assert len(in_pages()) > 5
    assert len(in_help()) > 10
