"""What the commands of all clouds share: what the server tells them, and what a new machine does first."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def option(name: str, default: str | None = None) -> str:
    """An option of the elastic compute (`--option NAME=VALUE`); without a default it must be given."""
    value = os.environ.get(f"MILL_OPTION_{name.upper()}", default)
    if value is None:
        sys.exit(f"The option {name} is missing: mill elastic update NAME --option {name}=VALUE")
    return value


def told(name: str) -> str:
    return os.environ[f"MILL_{name}"]


def tags() -> dict[str, str]:
    """By these `observe` finds machines again: those of this installation and elastic compute alone."""
    return {"mill-owner": told("OWNER"), "mill-elastic": told("ELASTIC")}


def run(*command: str) -> Any:
    """The JSON that a command prints; None for no output. What it says on stderr is passed on."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout) if done.stdout.strip() else None


def run_unless_gone(command: Sequence[str], gone: Iterable[str]) -> None:
    """Run a command that deletes; one of the words `gone` in its complaint says that there was nothing to delete."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and not any(words in done.stderr + done.stdout for words in gone):
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode)


def answer(names: Iterable[str]) -> None:
    """What `observe` prints."""
    json.dump({"nodes": [{"name": name} for name in names]}, sys.stdout)


def agent_command(token_file: str) -> str:
    """`mill agent` with everything it needs. It measures its own CPUs, memory and GPUs."""
    words = [
        "mill", "agent", "--server", told("SERVER"), "--token-file", token_file, "--site", told("SITE"),
        "--node", told("NODE"), "--driver", told("DRIVER"),
    ]  # fmt: skip
    for label in filter(None, told("LABELS").split(",")):
        words += ["--label", label]
    return shlex.join(words)


def startup_script() -> str:
    """What a new machine runs as root: Millpond is installed, then the agent runs until the machine goes."""
    file = "/etc/millpond/join-token"
    return f"""#!/bin/sh
set -eu
{option("install", "python3 -m pip install millpond")}
install -d -m 700 /etc/millpond
(umask 077 && printf '%s' {shlex.quote(told("JOIN_TOKEN"))} > {file})
export HOME="${{HOME:-/root}}"
# An agent that ends for good (its credential was revoked) takes the machine with it.
{agent_command(file)} --state-dir /var/lib/millpond || true
shutdown -h now
"""


@contextmanager
def written(text: str) -> Iterator[str]:
    """A file with this text, for nobody else to read: a join token is inside."""
    with tempfile.NamedTemporaryFile("w", prefix="mill-") as file:
        file.write(text)
        file.flush()
        yield file.name
