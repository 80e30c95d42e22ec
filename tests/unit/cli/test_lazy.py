"""A command pays for its own imports only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from millpond.cli.lazy import Entry
from millpond.cli.main import ENTRIES
from millpond.client.working_copy import WorkingCopy
from tests.unit.cli.test_cache import CACHED
from tests.unit.client.fake_server import FakeServer

QUICK = [entry for entry in ENTRIES if entry.quick]


@pytest.mark.parametrize("entry", QUICK, ids=[entry.name for entry in QUICK])
def test_verbs_that_people_wait_for_are_those_of_the_noun(entry: Entry) -> None:
    whole = entry.load()
    for name in entry.quick:
        part = entry.load(name)
        assert set(part.commands) < set(whole.commands)
        assert [p.name for p in part.commands[name].params] == [p.name for p in whole.commands[name].params]
        assert part.commands[name].help == whole.commands[name].help


# Each of them takes longer to load than a quick verb takes for everything else before it sends something.
OTHERS = {"pydantic", "httpx", "anyio", "rich", "asyncio"}
HEAVY = OTHERS | {"millpond.wire.base", "millpond.cli.data", "millpond.cli.cache"}


@pytest.mark.parametrize("verb", ["data clone vision/xray", "data sync", "cache add vision/xray --on nfs"])
def test_what_people_wait_for_loads_little(verb: str, home: Path) -> None:
    working_copy = WorkingCopy(
        root=Path.cwd(), server="http://127.0.0.1:1", project="vision", dataset="xray", dataset_id="d1"
    )
    working_copy.save()
    told, loaded = run_and_list(verb)
    assert "127.0.0.1:1 cannot be reached" in told
    assert not loaded & HEAVY


def test_a_clone_loads_nothing_that_reads_files(home: Path) -> None:
    _, loaded = run_and_list("data clone vision/xray --server http://127.0.0.1:1")
    assert not loaded & {"pyfastcdc", "millpond.lake.push", "millpond.client.sync"}


def test_adding_to_a_cache_stays_quick_until_it_is_there(server: FakeServer, home: Path) -> None:
    added = {"cached": CACHED | {"state": "filling"}, "started": True, "reasons": []}
    server.on("POST", "/caches", lambda received: added)
    server.on("GET", "/caches/c1", lambda received: CACHED)
    told, loaded = run_and_list(f"cache add xray --server {server.url}")
    assert "xray@3fa2c1d0 is on volume nfs" in told
    assert not loaded & HEAVY


def run_and_list(words: str) -> tuple[str, set[str]]:
    """What a command says to the person, and the modules it has loaded."""
    program = (
        "import sys\nfrom millpond.cli.main import main\n"
        f"sys.argv = ['mill', *{words.split()!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded:', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return done.stderr, set(done.stdout.partition("loaded: ")[2].split())
