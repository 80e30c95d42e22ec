"""A command pays for its own imports only."""

from __future__ import annotations

import subprocess
import sys

import pytest

from millpond.cli.lazy import Entry
from millpond.cli.main import ENTRIES

QUICK = [entry for entry in ENTRIES if entry.quick]


@pytest.mark.parametrize("entry", QUICK, ids=[entry.name for entry in QUICK])
def test_verbs_that_people_wait_for_are_those_of_the_noun(entry: Entry) -> None:
    whole, part = entry.load(), entry.load(entry.quick[0])
    assert set(part.commands) == set(entry.quick) < set(whole.commands)
    for name in entry.quick:
        assert [p.name for p in part.commands[name].params] == [p.name for p in whole.commands[name].params]
        assert part.commands[name].help == whole.commands[name].help


@pytest.mark.parametrize("verb", ["clone nope", "sync"])
def test_moving_data_does_not_load_a_second_http_client(verb: str) -> None:
    program = (
        "import sys\nfrom millpond.cli.main import main\n"
        f"sys.argv = ['mill', 'data', *'{verb} --server http://127.0.0.1:1'.split()]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('millpond.client.http' in sys.modules, 'httpx' in sys.modules, 'anyio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip().endswith("True False False"), done.stdout + done.stderr


def test_sync_does_not_load_the_commands_beside_it() -> None:
    program = (
        "import sys\nfrom millpond.cli.main import main\nsys.argv = ['mill', 'data', 'sync', '--server', 'no URL']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nprint('millpond.cli.data' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip().endswith("False"), done.stdout + done.stderr
