"""Runs made again, by the command line, the API and the SDK, on a real `mill up` with its agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import millpond
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

TRAIN = """
import argparse, os, pathlib
import millpond
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
given = parser.parse_args()
run = millpond.init(params={"lr": given.lr, "depth": 3})
data = millpond.Dataset("rerun-data@main")
run.log_metric("score", given.lr * 10 + run.params["depth"] + len(data.read("a.txt")))
print("extra" if pathlib.Path("extra.py").exists() else "plain")
"""


@pytest.fixture
def mill(shared_up: MillUp, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(shared_up, capsys, tmp_path)


def dataset(mill: Mill, folder: Path, name: str, text: str) -> None:
    (folder / "a.txt").write_text(text)
    if mill("data", "show", name).code:
        folder.mkdir(exist_ok=True)
        (folder / name).mkdir()
        mill.ok("data", "init", name, cwd=folder / name)
    mill.ok("data", "put", str(folder / "a.txt"), f"{name}@main:a.txt")


def run_of(mill: Mill, run: str) -> Any:
    return mill.ok("run", "show", run, "--json").json


def test_a_job_is_made_again_with_another_parameter_and_the_same_data(mill: Mill, tmp_path: Path) -> None:
    dataset(mill, tmp_path, "rerun-data", "12345")
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    words = ["submit", "again", "--data", "rerun-data", "--wait", "--json", "--", "python", "train.py", "--lr", "0.1"]
    first = mill.ok(*words, cwd=code).json
    dataset(mill, tmp_path, "rerun-data", "much longer than before")

    plan = mill.ok("rerun", first["run_id"], "--set", "lr=0.5", "--dry-run", "--json").json
    assert plan["can_start"] and plan["job"] is None
    assert {part["part"]: part["state"] for part in plan["parts"]} == {
        "code": "same", "data": "same", "environment": "unpinned", "place": "same", "command": "changed",
        "parameter": "changed",
    }  # fmt: skip
    built = mill.ok("rerun", first["run_id"], "--packages", "--dry-run", "--json").json["parts"][0]
    assert (built["part"], built["state"]) == ("environment", "same") and "recorded package" in built["text"]
    assert "MILL_PARAMS" not in str([part for part in plan["parts"] if part["part"] == "parameter"])

    made = mill.ok("rerun", first["run_id"], "--set", "lr=0.5", "--set", "depth=7", "--wait", "--json").json
    assert (made["state"], made["name"], made["number"]) == ("succeeded", "again", 2)
    run = run_of(mill, made["run_id"])
    assert run["tags"]["rerun_of"] == first["run_id"]
    assert run["params"] == {"lr": 0.5, "depth": 7}
    # The data is that of the first run, although the script names the branch, which has moved on.
    assert run["metrics"]["score"] == 5 + 7 + 5


def test_what_is_gone_is_said_and_nothing_starts(mill: Mill, shared_up: MillUp, tmp_path: Path) -> None:
    dataset(mill, tmp_path, "rerun-gone", "1")
    job = mill.ok("submit", "gone", "--no-code", "--data", "rerun-gone", "--wait", "--json", "--", "true").json
    mill.ok("data", "delete", "rerun-gone", "--yes")
    failed = mill("rerun", job["run_id"])
    assert failed.code == 5
    assert "is in the bin" in failed.err and "mill data undelete rerun-gone" in failed.err
    with shared_up.client() as client:
        answer = client.post(f"/projects/default/runs/{job['run_id']}/rerun", json={})
        assert (answer.status_code, answer.json()["details"]["parts"][0]["part"]) == (409, "data")
        assert client.post(f"/projects/default/runs/{job['run_id']}/rerun", json={"sett": {}}).status_code == 422
    replaced = mill.ok("rerun", job["run_id"], "--code", str(tmp_path), "--dry-run", "--json").json
    assert (replaced["parts"][0]["part"], replaced["parts"][0]["state"]) == ("code", "changed")
    assert not replaced["can_start"], "its data is still gone"
    wait_until(lambda: mill("data", "purge", "rerun-gone", "--yes").code == 0, what="its cached commit to be cleared")
    said = mill("rerun", job["run_id"]).err
    assert "Dataset default/rerun-gone, read at" in said and "no longer exists" in said and "--data" in said
    assert mill("rerun", "nothing-like-it").code == 3


def test_a_script_run_anywhere_is_made_again_as_a_job(mill: Mill, shared_up: MillUp, tmp_path: Path) -> None:
    dataset(mill, tmp_path, "rerun-data", "12345")
    repository = tmp_path / "repository"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "train.py").write_text(TRAIN.replace("* 10", "* 1000"))
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "-m", "first")
    (repository / "src" / "train.py").write_text(TRAIN)  # not committed
    (repository / "src" / "extra.py").write_text("new = 1\n")  # not even known to Git
    command = [sys.executable, "train.py", "--lr", "0.1"]
    subprocess.run(command, cwd=repository / "src", env=environment(shared_up.home), check=True, capture_output=True)
    (found,) = mill.ok("run", "search", "params.depth = 3 and job is null", "--json").json["items"]
    details = run_of(mill, found["id"])
    assert "src/extra.py" in details["origin"]["git"]["diff"]
    assert git(repository, "status", "--porcelain").split() == ["M", "src/train.py", "??", "src/extra.py"]

    git(repository, "stash", "-q", "--include-untracked")
    with patch.dict(os.environ, environment(shared_up.home), clear=True):
        plan = millpond.rerun(found["id"], {"lr": 0.2}, dry_run=True)
        assert plan.can_start and plan.git and plan.git.directory == "src"
        job = millpond.rerun(found["id"], {"lr": 0.2}, packages=False)
        ended = job.wait("2m")
        assert ended.state.value == "succeeded", b"".join(job.logs()).decode()
        assert b"extra" in b"".join(job.logs())
    run = run_of(mill, ended.run_id)
    assert run["metrics"]["score"] == 2 + 3 + 5
    assert run["inputs"][0]["name"] == "default/rerun-data"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout
