"""The whole story through the command line as people start it, on a real `mill up` with its real agent.

Each step is a process of its own, as in a terminal or a script; what single commands do in detail is tested elsewhere.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until

TRAIN = """
import os, pathlib, sys, time
import millpond

data = pathlib.Path(os.environ["MILL_DATA_XRAY"])
names = sorted(path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file())
print("files:", *names, flush=True)
print("to stderr", file=sys.stderr, flush=True)
millpond.log_params(rate=0.5, kind=os.environ["KIND"])
for step in range(5):
    millpond.log_metric("loss", 2.0**-step, step)
pathlib.Path(os.environ["MILL_OUTPUT"], "model.txt").write_text("weights")
time.sleep(0.5)  # long enough for a sample of its usage
"""


@dataclass(frozen=True)
class Shell:
    """Runs `mill …` in a folder of its own."""

    up: MillUp
    folder: Path

    def __call__(self, *arguments: str, cwd: Path | None = None, expect: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "millpond", *arguments]
        where = cwd or self.folder
        done = subprocess.run(
            command, cwd=where, env=environment(self.up.home), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == expect, f"mill {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def json(self, *arguments: str, cwd: Path | None = None) -> Any:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return json.loads(self(*arguments[:end], "--json", *arguments[end:], cwd=cwd).stdout)

    def wait_for(self, job: str, state: str) -> None:
        """Asks the server itself: a process for each look would be the larger part of the test."""
        with self.up.client() as client:
            path = f"/projects/default/jobs/{job}"
            wait_until(lambda: client.get(path).json()["state"] == state, within=60, what=f"{job} to be {state}")


@pytest.fixture(scope="module")
def up(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture
def mill(up: MillUp, tmp_path: Path) -> Shell:
    return Shell(up, tmp_path)


def make_folders(root: Path) -> tuple[Path, Path]:
    data, code = root / "xray", root / "code"
    (data / "train").mkdir(parents=True)
    for number in range(6):
        (data / "train" / f"{number}.png").write_bytes(bytes([number]) * 4000)
    (data / "ünï code.txt").write_text("names may be anything")
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    (code / "notes.tmp").write_text("not for the job")
    (code / ".millignore").write_text("*.tmp\n")
    return data, code


def test_dataset_lake_cache_job_run(mill: Shell, tmp_path: Path) -> None:
    data, code = make_folders(tmp_path)
    mill("data", "init", cwd=data)
    first = mill.json("data", "sync", "-m", "first", cwd=data)
    assert (first["files"], first["author"]) == (7, "admin")

    cached = mill.json("cache", "add", "xray")
    assert cached["state"] == "ready"
    published = Path(cached["path"]) / "ünï code.txt"
    assert published.read_text() == "names may be anything"
    assert published.stat().st_mode & 0o777 == 0o444

    submit = [
        "submit",
        "story",
        "--data",
        "xray",
        "-e",
        "KIND=test",
        "--cpu",
        "1",
        "--memory",
        "50MB",
        "--follow",
        "--",
    ]
    followed = mill(*submit, "python", "train.py", cwd=code)
    assert followed.stdout.splitlines() == [
        "files: train/0.png train/1.png train/2.png train/3.png train/4.png train/5.png ünï code.txt",
        "to stderr",
    ]
    job = mill.json("get", "story")
    assert (job["state"], job["exit_code"], job["cpu"]) == ("succeeded", 0, 1)
    assert job["inputs"][0]["commit_id"] == first["id"]
    assert mill("logs", "story").stdout == followed.stdout
    code_files = {item["path"] for item in mill.json("data", "ls", f".code@{job['code_commit']}")["items"]}
    assert code_files == {".millignore", "train.py"}
    assert mill("data", "cat", f".outputs@{job['output_commit']}:model.txt").stdout == "weights"

    run = mill.json("run", "show", job["run_id"])
    assert (run["state"], run["params"]) == ("succeeded", {"rate": 0.5, "kind": "test"})
    series = mill.json("run", "metrics", job["run_id"])["items"]
    assert [(line["key"], line["values"]) for line in series] == [("loss", [1.0, 0.5, 0.25, 0.125, 0.0625])]
    with mill.up.client() as client:
        usage = client.get(f"/projects/default/jobs/{job['id']}/usage").json()
    assert usage["items"][0]["memory_bytes"] > 1_000_000

    for moment in (job["queued_at"], job["started_at"], run["ended_at"], first["time"], cached["ready_at"]):
        assert abs((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()) < 300
        assert moment.endswith("+00:00"), "ISO 8601 with its offset"


@pytest.mark.long
def test_names_ends_and_the_bin(mill: Shell) -> None:
    first = mill("submit", "night", "--no-code", "--", "sleep", "60").stdout.strip()
    mill.wait_for("night", "running")
    taken = mill("submit", "night", "--no-code", "--", "true", expect=5)
    assert first in taken.stderr and "mill stop night" in taken.stderr
    mill("stop", "night")
    mill("wait", "night", expect=103)

    second = mill.json("submit", "night", "--no-code", "--wait", "--", "true")["id"]
    assert mill.json("get", "night")["id"] == second
    assert mill.json("get", "night#1")["id"] == first
    assert [job["written"] for job in mill.json("list")["items"]][:2] == ["night", "night#1"]

    failed = mill("submit", "--no-code", "--wait", "--", "sh", "-c", "kill -SEGV $$", expect=100)
    assert "SIGSEGV" in failed.stderr
    mill("delete", "night", expect=2)
    mill("delete", "night", "--yes")
    assert mill.json("get", "night")["id"] == first, "the newest that is not in the bin"
    assert mill.json("list", "--deleted")["items"][0]["id"] == second
    mill("undelete", second)
    assert mill.json("get", "night")["id"] == second

    running = mill("submit", "gone", "--no-code", "--", "sleep", "60").stdout.strip()
    mill("delete", "gone", "--yes")
    mill.wait_for(running, "cancelled")
