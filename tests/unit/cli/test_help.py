"""The words of help: every command has an example that really is one of its calls."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from millpond.cli.main import ENTRIES

_EXAMPLE = re.compile(r"^Example: (.*)$", re.MULTILINE)
# Anything may follow these in a shell.
_SEPARATORS = {"&&", "|", ">", ";"}


def commands() -> Iterator[tuple[str, Any]]:
    for entry in ENTRIES:
        if entry.is_present:
            yield from _below(f"mill {entry.name}", entry.load())


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    first_names: dict[Any, str] = {}
    for verb, found in command.commands.items():
        # A second name of a command (`data log`, `data commits`) has the same help.
        if first_names.setdefault(found.help, verb) != verb:
            continue
        yield from _below(f"{name} {verb}", found)


COMMANDS = dict(commands())


_JOBS = {
    f"mill {verb}"
    for verb in ["submit", "submit-mpi", "list", "get", "attempts", "why", "wait", "stop", "delete", "undelete"]
}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in _JOBS])
def test_every_command_has_an_example_that_fits_it(name: str) -> None:
    command = COMMANDS[name]
    found = _EXAMPLE.search(command.help or "")
    assert found, f"{name}: end the docstring with a line `Example: {name} …`"
    words = shlex.split(found[1])
    start = next(i for i in range(len(words)) if words[i : i + len(name.split())] == name.split())
    own = words[start + len(name.split()) :]
    end = next((i for i, word in enumerate(own) if word in (*_SEPARATORS, "--")), len(own))
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert [word for word in own[:end] if word.startswith("-") and word != "-" and word not in known] == []
    # It parses, too: arguments are complete and have the right kinds.
    command.make_context(name, list(own[: next((i for i, w in enumerate(own) if w in _SEPARATORS), len(own))]))


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in _JOBS])
def test_help_begins_with_a_capital_and_ends_with_a_stop(name: str) -> None:
    command = COMMANDS[name]
    first = (command.help or "").splitlines()[0]
    assert first[0].isupper() and first.endswith("."), first
    for parameter in command.params:
        text = getattr(parameter, "help", None) or ""
        assert text[:1] == text[:1].upper() or not text[0].isalpha() or text.startswith(("s3://", "postgresql"))


def test_every_option_has_a_help() -> None:
    without = [
        f"{name} {parameter.opts[0]}"
        for name, command in COMMANDS.items()
        for parameter in command.params
        if not getattr(parameter, "help", None) and not getattr(parameter, "hidden", False)
    ]
    assert without == []
