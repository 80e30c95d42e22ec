"""Every "not found" says what is near, or how to list what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli import Mill, ServerHere, server_here

COMMANDS = [
    ("data", "show", "nope"),
    ("data", "commits", "nope"),
    ("data", "clone", "nope"),
    ("data", "undelete", "nope"),
    ("cache", "add", "nope"),
    ("cache", "clear", "there@main", "--yes"),
    ("cache", "plan", "--on", "nope"),
    ("data", "refs", "nope"),
    ("data", "ls", "there@nope"),
    ("connection", "show", "nope"),
    ("source", "show", "nope"),
    ("get", "nope"),
    ("logs", "nope"),
    ("why", "nope"),
    ("secret", "rm", "NOPE", "--yes"),
    ("run", "show", "nope"),
    ("volume", "show", "nope"),
    ("volume", "usage", "nope"),
    ("site", "show", "nope"),
    ("link", "rm", "nope", "nowhere"),
    ("compute", "show", "nope"),
    ("compute", "revoke-token", "nope"),
    ("project", "show", "nope"),
    ("project", "remove-member", "default", "nope"),
    ("user", "delete", "nope", "--yes"),
    ("token", "revoke", "nope"),
    ("server", "use", "nope"),
    ("project", "list", "--server", "nope"),
    ("data", "list", "--project", "nope"),
]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("not-found")) as server:
        yield server


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_not_found_names_the_nearest_or_how_to_list(
    there: ServerHere, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    mill = Mill(there, capsys, tmp_path)
    if "there" in " ".join(command):
        mill("data", "create", "there")
    done = mill(*command)
    assert done.code == 3, done.err
    hint = done.err.partition("hint: ")[2]
    assert "Did you mean" in hint or "mill " in hint, done.err
