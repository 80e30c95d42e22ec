"""`mill workspace` and `millpond.Workspace`, against a server here and an agent that copies files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.cli.main import main
from millpond.errors import Conflict, NotFound
from millpond.testing.builders_data import GB, a_commit, a_volume, an_agent
from millpond.testing.server import RunningServer, running_server
from millpond.testing.workspaces import WorkspaceDisk


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server") as running:
        monkeypatch.setenv("MILL_SERVER", running.url)
        monkeypatch.setenv("MILL_TOKEN", running.token_of("admin"))
        monkeypatch.setenv("MILL_HOME", str(tmp_path / "home"))
        yield running


@pytest.fixture
def disk(server: RunningServer, tmp_path: Path) -> WorkspaceDisk:
    agent = an_agent(server.deps)
    a_volume(server.deps, agent, capacity=10 * GB, reserve_bytes=0)
    return WorkspaceDisk(server, agent, tmp_path / "volume")


@contextmanager
def working(disk: WorkspaceDisk) -> Iterator[None]:
    """The agent at work beside the test."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            disk.carry_out()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def mill(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == code, capsys.readouterr().err
        out, err = capsys.readouterr()
        return json.loads(out) if code == 0 else json.loads(err.splitlines()[-1])["error"]

    return run


def test_a_day_with_a_workspace(server: RunningServer, disk: WorkspaceDisk, mill: Any) -> None:
    a_commit(server.deps, {"a.txt": b"one"})
    planned = mill("workspace", "create", "notes", "--size", "1GB", "--from", "xray", "--dry-run")
    assert (planned["how"], planned["volume"]) == ("fill", "nfs")
    assert mill("workspace", "list")["items"] == []
    with working(disk):
        made = mill("workspace", "create", "notes", "--size", "1GB", "--from", "xray")
        assert (made["state"], made["files"]) == ("ready", 1)
        tree = disk.tree(made["id"])
        assert (tree / "a.txt").read_text() == "one"
        assert mill("workspace", "snapshot", "notes", "before")["near"] is True
        (tree / "b.txt").write_text("two")
        changed = mill("workspace", "diff", "notes@before")
        assert [one["path"] for one in changed["items"]] == ["b.txt"]
        assert [one["name"] for one in mill("workspace", "snapshots", "notes")["items"]] == ["before"], (
            "nothing is left"
        )
        assert mill("workspace", "wait", "notes@before")["state"] == "kept"
        mill("workspace", "restore", "notes@before", code=2)
        assert (tree / "b.txt").exists(), "not without being asked"
        assert mill("workspace", "restore", "notes@before", "--yes")["state"] == "ready"
        assert not (tree / "b.txt").exists()
        clone = mill("workspace", "clone", "notes@before", "second")
        assert (clone["source"]["written"], clone["state"]) == ("notes@before", "ready")
        mill("workspace", "clone", "notes", "second", "--refresh")
        assert mill("workspace", "clone", "notes", "second", code=5)["code"] == "name_taken"
    names = [one["name"] for one in mill("workspace", "snapshots", "notes")["items"]]
    assert names[-1] == "before" and names[0].startswith("before-restore.")
    assert {one["name"] for one in mill("workspace", "list", "--space")["items"]} == {"notes", "second"}
    assert "made from default/xray" in " ".join(mill("why", "notes")["reasons"])
    assert mill("workspace", "schedule", "notes", "daily", "--every", "1d", "--keep", "7")["keep"] == "7"
    assert [one["series"] for one in mill("workspace", "schedules", "notes")["items"]] == ["daily"]
    mill("workspace", "schedule", "notes", "daily", "--off")
    assert mill("workspace", "resize", "notes", "2GB")["size_bytes"] == 2 * GB
    assert mill("workspace", "share", "notes")["shared"] is True
    assert mill("workspace", "unshare", "notes")["shared"] is False
    mill("workspace", "rm", "second")
    assert [one["name"] for one in mill("workspace", "list", "--deleted")["items"]] == ["second"]
    assert mill("workspace", "undelete", "second")["state"] == "ready"
    mill("workspace", "rm", "second")
    mill("workspace", "rm", "second", "--purge", "--yes")
    mill("workspace", "rm", "notes@before", "--yes")
    assert mill("workspace", "show", "second", code=3)["code"] == "not_found"


def test_where_a_machine_sees_it(disk: WorkspaceDisk, mill: Any, tmp_path: Path) -> None:
    with working(disk):
        made = mill("workspace", "create", "notes", "--size", "1GB")
    said = mill("workspace", "mount", "notes", code=2)
    assert f"does not see {made['path']}" in said["message"]
    assert "Mount volume nfs" in said["hint"]
    assert mill("workspace", "create", "x", code=2)["message"] == "No size given."
    assert mill("workspace", "create", "x", "--size", "soon", code=2)["hint"].startswith("Write it as")
    assert mill("workspace", "clone", "notes@", "x", code=2)["code"] == "bad_name"
    assert mill("workspace", "schedule", "notes", "daily", code=2)["message"] == "Give either --every or --cron."


def test_a_script(disk: WorkspaceDisk) -> None:
    with working(disk):
        notes = millpond.Workspace.create("notes", "1GB")
        assert (notes.state.value, notes.size_bytes) == ("ready", GB)
        tree = disk.tree(notes.id)
        (tree / "a.txt").write_text("one")
        taken = notes.snapshot("first", kept=True)
        assert taken.state.value == "kept"
        (tree / "a.txt").write_text("two")
        assert [one.path for one in notes.diff("first").items] == ["a.txt"]
        assert [one.name for one in notes.snapshots()] == ["first"], "nothing is left of the comparison"
        plan = notes.plan_clone("other", snapshot="first")
        assert plan.how.value == "copy"
        other = notes.clone("other", snapshot="first")
        assert (disk.tree(other.id) / "a.txt").read_text() == "one"
        assert notes.clone("other", refresh=True).id == other.id
        assert (disk.tree(other.id) / "a.txt").read_text() == "two"
        assert notes.restore("first").state.value == "ready"
        assert (tree / "a.txt").read_text() == "one"
        assert notes.restore("first", into="third").name == "third"
        with pytest.raises(Conflict, match="already has a snapshot 'first'"):
            notes.snapshot("first")
        assert notes.schedule("hourly", every="1h", keep=24).keep == "24"
        notes.unschedule("hourly")
        assert notes.resize("2GB").share().shared is True
        assert {one.name for one in millpond.Workspace.list()} == {"notes", "other", "third"}
        other.remove()
        with pytest.raises(NotFound):
            other.refresh_info()
