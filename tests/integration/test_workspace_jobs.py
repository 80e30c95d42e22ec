"""Workspaces in jobs, with a real agent: written to, snapshotted, restored, opened; and who may not."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from millpond.client.http import Api
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

WITHIN = 60
WRITE = 'echo "$1" > "$MILL_WORKSPACE_{0}/a.txt"; {1}'


@pytest.fixture
def mill(shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(shared_up, capfd, tmp_path)


@pytest.fixture
def api(shared_up: MillUp) -> Iterator[Api]:
    known = json.loads((shared_up.home / "credentials.json").read_text())["servers"]
    with Api(shared_up.url, known[shared_up.url]["token"]) as api:
        yield api


def fails(mill: Mill, *arguments: str) -> str:
    """What is said when it is refused."""
    done = mill(*arguments)
    assert done.code != 0, done.out
    return done.err


def run(mill: Mill, *arguments: str) -> dict[str, Any]:
    return dict(mill.ok("submit", "--no-code", "--wait", "--json", *arguments).json)


def test_a_job_writes_and_a_snapshot_brings_it_back(mill: Mill) -> None:
    made = mill.ok("workspace", "create", "wj-notes", "--size", "100MB", "--json").json
    assert made["state"] == "ready"
    script = WRITE.format("WJ_NOTES", "true")
    ended = run(mill, "--workspace", "wj-notes:/notes", "--", "sh", "-c", script, "sh", "one")
    assert ended["state"] == "succeeded", ended
    file = Path(made["path"], "a.txt")
    assert file.read_text() == "one\n"
    taken = mill.ok("workspace", "snapshot", "wj-notes", "first", "--kept", "--json").json
    assert (taken["state"], taken["near"], taken["files"]) == ("kept", True, 1)
    run(mill, "--workspace", "wj-notes:/notes", "--", "sh", "-c", script, "sh", "two")
    assert file.read_text() == "two\n"
    changed = mill.ok("workspace", "diff", "wj-notes@first", "--json").json
    assert [one["path"] for one in changed["items"]] == ["a.txt"]
    mill.ok("workspace", "restore", "wj-notes@first", "--yes", "--json")
    assert file.read_text() == "one\n"
    clone = mill.ok("workspace", "clone", "wj-notes@first", "wj-second", "--json").json
    assert Path(clone["path"], "a.txt").read_text() == "one\n"
    assert Path(mill.ok("workspace", "mount", "wj-second").out.strip(), "a.txt").exists()
    reads = run(mill, "-w", "wj-second:/x:ro", "--", "sh", "-c", 'cat "$MILL_WORKSPACE_WJ_SECOND/a.txt"')
    assert mill.ok("logs", reads["id"]).out == "one\n"


def test_restoring_and_removing_are_refused_while_a_job_writes(mill: Mill) -> None:
    mill.ok("workspace", "create", "wj-busy", "--size", "10MB", "--json")
    mill.ok("workspace", "snapshot", "wj-busy", "first", "--json")
    job = mill.ok("submit", "wj-writer", "--no-code", "-w", "wj-busy:/x", "--json", "--", "sleep", "600").json
    wait_until(
        lambda: mill.ok("get", job["id"], "--json").json["state"] == "running", what="the job to run", within=WITHIN
    )
    shown = mill.ok("workspace", "show", "wj-busy", "--json").json
    assert [one["name"] for one in shown["jobs"]] == ["wj-writer"]
    assert "job wj-writer" in fails(mill, "workspace", "restore", "wj-busy@first", "--yes")
    assert "wj-writer" in fails(mill, "workspace", "rm", "wj-busy")
    mill.ok("stop", job["id"])
    wait_until(lambda: mill.ok("get", job["id"], "--json").json["ended_at"] is not None, what="its end", within=WITHIN)
    mill.ok("workspace", "restore", "wj-busy@first", "--yes", "--json")
    mill.ok("workspace", "rm", "wj-busy")


def test_what_a_job_cannot_have(mill: Mill) -> None:
    mill.ok("workspace", "create", "wj-some", "--size", "10MB", "--json")
    for asked, words in (
        ("nothing:/x", "No workspace 'nothing'"),
        ("wj-some", "is not a workspace"),
        ("wj-some:/etc/x", "belongs to the system"),
    ):
        assert words in fails(mill, "submit", "--no-code", "-w", asked, "--", "true")
    twice = fails(mill, "submit", "--no-code", "-w", "wj-some:/x", "-w", "wj-some:/x", "--", "true")
    assert "the same path" in twice
    absent = fails(mill, "submit", "--no-code", "--pvc", "gold:1GB:/x", "--", "true")
    assert "No volume, tier or storage class 'gold'" in absent


@pytest.mark.long
def test_a_job_that_writes_more_than_the_size_is_stopped(mill: Mill) -> None:
    """Where the file system keeps no quota, as where tests run."""
    mill.ok("workspace", "create", "wj-small", "--size", "1MB", "--json")
    mill.ok("workspace", "snapshot", "wj-small", "empty", "--json")
    script = 'head -c 3000000 /dev/zero > "$MILL_WORKSPACE_WJ_SMALL/big"; sleep 600'
    ended = mill("submit", "wj-large", "--no-code", "--wait", "--json", "-w", "wj-small:/x", "--", "sh", "-c", script)
    told = mill.ok("get", "wj-large", "--json").json
    assert (ended.code, told["state"]) == (100, "failed")
    assert told["problem"].startswith(
        "Stopped: workspace wj-small holds 3.0 MB, more than its size of 1.0 MB. Resize it"
    )
    assert "mill workspace resize wj-small SIZE" in mill.ok("why", "wj-small").out
    job = mill.ok("submit", "--no-code", "-w", "wj-small:/x", "--json", "--", "true").json["id"]
    wait_until(lambda: "more than its size" in mill.ok("why", job).out, what="the next job to say why it waits")
    mill.ok("workspace", "restore", "wj-small@empty", "--yes", "--json")
    assert mill("wait", job).code == 0, "it runs once there is room"


def test_a_claim_makes_a_workspace_for_a_job(mill: Mill) -> None:
    script = 'test "$(ls -d "$MILL_WORKSPACE_WJ"*/ 2>/dev/null)" || env | grep MILL_WORKSPACE_'
    ended = run(mill, "wj-claims", "--pvc", "standard:10MB:/scratch", "--", "sh", "-c", script)
    assert ended["state"] == "succeeded", ended
    names = [one["name"] for one in mill.ok("workspace", "list", "--json").json["items"]]
    assert [name for name in names if name.startswith("wj-claims-")]


def test_a_repository_is_cloned_into_it(mill: Mill, tmp_path: Path) -> None:
    source = tmp_path / "repository"
    source.mkdir()
    git = ["git", "-C", str(source), "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    (source / "train.py").write_text("print('hello')\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    subprocess.run([*git, "update-server-info"], check=True)
    with serving(source) as url:
        asked = ["workspace", "create", "wj-git", "--size", "10MB", "--git", f"{url}/.git@main", "--json"]
        made = mill.ok(*asked).json
        ended = mill("wait", made["git_job"], "--json")
    assert ended.code == 0, mill("logs", made["git_job"]).out
    assert Path(made["path"], "train.py").read_text() == "print('hello')\n"
    assert "is not a Git repository" in fails(mill, "workspace", "create", "x", "--size", "1MB", "--git=-upload/x")


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """Its files over HTTP."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
