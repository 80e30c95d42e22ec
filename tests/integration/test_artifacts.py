"""Artifacts from scripts and jobs: straight to the lake, there when the call returned, through API, CLI and SDK."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

import millpond
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.client.credentials import save_token
from millpond.services.datasets import reading
from millpond.services.lake import reindex
from millpond.services.runs import artifact_commits
from millpond.testing.server import ADMIN, SECRET, RunningServer, running_server
from millpond.testing.up import environment
from tests.integration.cli import Mill, ServerHere
from tests.integration.lost_database import an_empty_server, the
from tests.unit.services.lake.reading_all import read_all

BIG = random.Random(7).randbytes(9_000_000)
# Logs a file for each number that it is told, and says when each call has returned.
SCRIPT = """
import sys, pathlib, millpond
millpond.init(name="killed")
print(millpond.current_run().id, flush=True)
for line in sys.stdin:
    pathlib.Path(line.strip()).write_text("content of " + line.strip())
    millpond.log_artifact(line.strip())
    print("logged", flush=True)
"""


@dataclass
class World:
    server: RunningServer
    mill: Mill
    folder: Path

    def script(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT], cwd=self.folder, env=os.environ | environment(self.mill.server.home),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def admin(self) -> httpx.Client:
        return self.server.admin


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    store = open_store((tmp_path / "lake").as_uri(), LocalSigner(SECRET))
    home = tmp_path / "home"
    folder = tmp_path / "work"
    folder.mkdir()
    with running_server(tmp_path / "data", store=store) as server:
        save_token(home, server.url, server.token_of(ADMIN))
        for name, value in environment(home).items():
            monkeypatch.setenv(name, value)
        yield World(server, Mill(ServerHere(server.url, tmp_path / "data", home), capsys, folder), folder)
        millpond.finish()


def test_a_file_of_any_size_is_listed_read_and_downloaded(world: World, tmp_path: Path) -> None:
    model, plots = world.folder / "model.bin", world.folder / "plots"
    model.write_bytes(BIG)
    plots.mkdir()
    (plots / "a.png").write_bytes(b"png")
    with millpond.init(name="train") as run:
        run.log_artifact(model)
        run.log_artifacts(plots, "plots")
        assert {item.path: item.size for item in run.artifacts()} == {"model.bin": len(BIG), "plots/a.png": 3}
        run.log_artifact(model, "copy.bin")
    packs = [info for info in world.server.deps.store.list("projects/") if "/packs/" in info.key]
    assert sum(info.size for info in packs) < 1.1 * len(BIG), "what is there already is not sent again"

    mill = world.mill
    assert [item["path"] for item in mill.ok("run", "artifacts", run.id, "--json").json["items"]] == [
        "copy.bin", "model.bin", "plots/a.png",
    ]  # fmt: skip
    mill.ok("run", "download", run.id, "--to", str(tmp_path / "all"))
    assert (tmp_path / "all" / "model.bin").read_bytes() == BIG
    mill.ok("run", "download", run.id, "plots", "--to", str(tmp_path / "some"))
    assert [file.name for file in (tmp_path / "some").rglob("*")] == ["plots", "a.png"]
    assert mill("run", "download", run.id, "plots/a.png", "--to", str(tmp_path / "some")).code != 0, "it is there"
    assert mill("run", "download", run.id, "absent").code == 3
    assert "plots/" in mill.ok("data", "ls", f".artifacts@{run.id}").out

    millpond.download_artifacts(run.id, tmp_path / "sdk", path="plots")
    assert (tmp_path / "sdk" / "plots" / "a.png").read_bytes() == b"png"
    assert len(millpond.list_artifacts(run.id)) == 3

    admin = world.admin()
    answer = admin.get(f"/projects/default/runs/{run.id}/artifacts/model.bin", headers={"Range": "bytes=10-19"})
    assert (answer.status_code, answer.content) == (206, BIG[10:20])
    assert "attachment" in answer.headers["Content-Disposition"]
    shown = admin.get(f"/projects/default/datasets/.artifacts/commits/{run.id}/entries").json()["items"]
    assert [entry["path"] for entry in shown] == ["copy.bin", "model.bin", "plots"]


def test_hostile_names_are_refused_and_said(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    note = world.folder / "note.txt"
    note.write_text("x")
    hostile = ["../evil", "/abs", "a/../b", "a//b", ".", "C:\\x", "line\nbreak", "x" * 300]
    with millpond.init() as run:
        for name in [*hostile, "a\0b", "\ud800", "ü ☃", "con"]:
            run.log_artifact(note, name)
        run.log_image("../../etc/passwd", [[0.5]])
    said = capsys.readouterr().err
    assert all(repr(name)[:50] in said for name in hostile)
    kept = sorted(item.path for item in run.artifacts())
    assert kept == ["?", "a\ufffdb", "con", "images/etc/passwd/0.png", "ü ☃"]
    for name in hostile:
        answer = world.admin().put(f"/projects/default/runs/{run.id}/artifacts/{quote(name, safe='')}", content=b"x")
        assert 400 <= answer.status_code < 500, (name, answer.text)
    assert sorted(item.path for item in run.artifacts()) == kept


def test_what_has_returned_survives_kill_9(world: World) -> None:
    script = world.script()
    assert script.stdin and script.stdout
    run_id = script.stdout.readline().strip()
    for number in range(3):
        script.stdin.write(f"{number}.txt\n")
        script.stdin.flush()
        assert script.stdout.readline() == "logged\n"
    script.send_signal(signal.SIGKILL)
    script.wait()
    with script.stdin, script.stdout:
        pass
    found = world.admin().get(f"/projects/default/runs/{run_id}/artifacts").json()["items"]
    assert [item["path"] for item in found] == ["0.txt", "1.txt", "2.txt"]
    content = world.admin().get(f"/projects/default/runs/{run_id}/artifacts/2.txt").text
    assert content == "content of 2.txt"


def test_people_cannot_commit_to_them(world: World) -> None:
    body = {"upload": "u" * 8, "branch": "main", "tree": "0" * 64, "expected": None, "message": ""}
    answer = world.admin().post("/projects/default/datasets/.artifacts/commits", json=body)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_the_lake_alone_brings_them_back(world: World, tmp_path: Path) -> None:
    with millpond.init(name="train") as run:
        (world.folder / "note.txt").write_text("kept")
        run.log_artifact(world.folder / "note.txt")
    deps = world.server.deps
    artifact_commits.gather_all(deps, deps.clock.now())
    with an_empty_server(tmp_path / "new", deps.store) as new:
        assert reindex.reindex(new).problems == []
        dataset = the(new, "default", ".artifacts")
        commit = reading.get_commit(new, dataset, run.id)
        assert read_all(new, dataset, commit) == {"note.txt": b"kept"}
        assert commit.lineage == {"run": run.id}
