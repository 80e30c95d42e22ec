"""The server is killed again and again while commits come: each of them has started one run."""

from __future__ import annotations

import random
import time
from pathlib import Path

import httpx
import pytest

from millpond.api.listener import bind
from millpond.testing.up import mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.flow_server import HERE, save

FLOW = """schema: millpond.flow/1
name: watched
steps:
  one: {command: ["true"]}
triggers: [{type: commit, ref: data@main}]
"""
ROUNDS = 6


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_killed_server_starts_one_run_for_each_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "n").write_text("0")
    draw = random.Random(7)
    with bind("127.0.0.1", 0) as free:  # the folder remembers the server's address
        port = str(free.getsockname()[1])
    for number in range(ROUNDS + 1):
        with mill_up(tmp_path / "server", "--port", port) as up:
            mill = Mill(up, capsys, tmp_path)
            if number == 0:
                mill.ok("data", "init", "data", cwd=folder)
                mill.ok("data", "sync", cwd=folder)
                with up.client() as client:
                    save(client, FLOW)
            (folder / "n").write_text(str(number + 1))
            mill.ok("data", "sync", cwd=folder)
            time.sleep(draw.uniform(0, 1))  # at another step each time
            up.kill()
    with mill_up(tmp_path / "server", "--port", port) as up, up.client() as client:
        mill = Mill(up, capsys, tmp_path)
        wait_until(lambda: len(_commits_of_runs(client)) >= ROUNDS + 1, what="a run for each commit")
        made = [one["id"] for one in mill.ok("data", "commits", "data", "--json").json["items"]]
        wait_until(lambda: _has_nothing_waiting(client), what="the end of all firings")
        assert sorted(_commits_of_runs(client)) == sorted(made[:-1]), "each once; the first came before the flow"


def _commits_of_runs(client: httpx.Client) -> list[str]:
    return [one["trigger"]["commit"] for one in client.get(f"{HERE}/flow-runs", params={"limit": 100}).json()["items"]]


def _has_nothing_waiting(client: httpx.Client) -> bool:
    return client.get(f"{HERE}/flows/watched/firings", params={"state": "waiting"}).json()["items"] == []
