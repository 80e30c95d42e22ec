"""Checkpoints, through a real server and agent: saved by the SDK or at the end, restored for the next attempt."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.lake.fetch import fetch_tree
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until

HERE = "/projects/default"
# Saves step 1, then is killed while it writes step 2; goes on from what it finds.
KILLED = """
import os, pathlib, signal, millpond
state = pathlib.Path(os.environ["MILL_CHECKPOINT"], "state")
attempt = os.environ["MILL_ATTEMPT"]
print("attempt", attempt, "found", state.read_text() if state.exists() else None, flush=True)
if attempt == "1":
    state.write_text("step 1")
    assert millpond.checkpoint() and millpond.checkpoint()
    state.write_text("half of st")
    os.kill(os.getpid(), signal.SIGKILL)
state.write_text("step 2")
"""
# Knows nothing of Millpond but the directory.
PLAIN = """
cat "$MILL_CHECKPOINT/count" 2>/dev/null || echo none
echo "$MILL_ATTEMPT" > "$MILL_CHECKPOINT/count"
test "$MILL_ATTEMPT" = 2
"""
# Writes its state only when it is told to end.
TOLD = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["MILL_CHECKPOINT"], "state")
found = state.read_text() if state.exists() else None
def save(*_):
    state.write_text("saved in time")
    sys.exit(9)
signal.signal(signal.SIGTERM, save)
print("found", found, flush=True)
pathlib.Path("ready").touch()
while not state.exists():
    time.sleep(0.05)
"""
# Saves as fast as it can, says which step is safe, and checks that what it finds is whole and not older than that.
STORM = """
import os, pathlib, sys, millpond
saved, notes = pathlib.Path(os.environ["MILL_CHECKPOINT"]), pathlib.Path(sys.argv[1])
def note(name, value):
    (notes / "new").write_text(str(value))
    os.replace(notes / "new", notes / name)
parts = [int(path.read_text().split()[0]) for path in sorted(saved.iterdir())]
safe = int((notes / "safe").read_text()) if (notes / "safe").exists() else 0
assert parts in ([], parts[:1] * 3), f"torn: {parts}"
step = parts[0] if parts else 0
assert step >= safe, f"found step {step}, though {safe} was safe"
note("begun", os.environ["MILL_ATTEMPT"])
while not (notes / "enough").exists():
    step += 1
    for name in "abc":
        (saved / name).write_text(f"{step} " + "x" * 100_000)
    if millpond.checkpoint():
        note("safe", step)
"""


@pytest.fixture(scope="module")
def client(shared_up: MillUp) -> httpx.Client:
    return shared_up.client()


def submit(client: httpx.Client, name: str, *command: str, **spec: Any) -> str:
    answer = client.post(f"{HERE}/jobs", json={"name": name, "command": list(command), "backoff_seconds": 0, **spec})
    assert answer.status_code == 201, answer.text
    job: str = answer.json()["id"]
    return job


def get(client: httpx.Client, job: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{HERE}/jobs/{job}").json()
    return found


def finished(client: httpx.Client, job: str) -> dict[str, Any]:
    wait_until(lambda: get(client, job)["ended_at"], within=60, what="the end of the job")
    return get(client, job)


def log_of(client: httpx.Client, job: str, attempt: int) -> str:
    return client.get(f"{HERE}/jobs/{job}/log", params={"attempt": attempt}).text


def checkpoint_of(up: MillUp, job: str, target: Path) -> dict[str, str]:
    credentials = json.loads((up.home / "credentials.json").read_text())
    with Api(up.url, credentials["servers"][up.url]["token"]) as api:
        with up.client() as client:
            commit = client.get(f"{HERE}/datasets/.checkpoints/commits/{job}").json()
        with ApiDownloader(api, "default", ".checkpoints", commit["id"]) as source:
            fetch_tree(source, commit["tree"], target)
    return {path.name: path.read_text() for path in target.iterdir()}


def test_a_killed_job_goes_on_from_what_it_saved(shared_up: MillUp, client: httpx.Client, tmp_path: Path) -> None:
    job = submit(client, "ckpt-killed", "python", "-c", KILLED, retries=1, retry_on=["signal"])
    ended = finished(client, job)
    assert (ended["state"], ended["attempt"]) == ("succeeded", 2)
    assert log_of(client, job, 1) == "attempt 1 found None\n"
    assert log_of(client, job, 2) == "attempt 2 found step 1\n", "not what it was writing when it was killed"
    assert ended["checkpoint_commit"] and ended["saved_at"]
    assert checkpoint_of(shared_up, "ckpt-killed", tmp_path / "read") == {"state": "step 2"}


def test_without_the_sdk_what_lies_there_at_the_end_is_restored(client: httpx.Client) -> None:
    job = submit(client, "ckpt-plain", "sh", "-c", PLAIN, retries=1)
    assert finished(client, job)["state"] == "succeeded"
    assert (log_of(client, job, 1), log_of(client, job, 2)) == ("none\n", "1\n")


def test_only_the_job_itself_writes_there(client: httpx.Client) -> None:
    upload = client.post(f"{HERE}/uploads", json={}).json()["id"]
    body = {"upload": upload, "tree": "0" * 64, "branch": "main", "message": "mine"}
    answer = client.post(f"{HERE}/datasets/.checkpoints/commits", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (403, "Only jobs can commit to .checkpoints.")


def test_what_is_written_after_sigterm_is_restored_wherever_the_job_goes(tmp_path: Path) -> None:
    """The machine shuts down: the keeper's guard gets SIGTERM, and the job is placed again."""
    with mill_up(tmp_path / "data") as up, up.client() as client:
        job = submit(client, "told", "python", "-c", TOLD, grace_seconds=60)
        placements = up.data_dir / "agent" / "placements"
        wait_until(lambda: list(placements.glob("*/work/ready")), within=60, what="the job to run")
        guard = json.loads(next(placements.glob("*/claim")).read_text())["guard"]["pid"]
        os.kill(guard, signal.SIGTERM)
        ended = finished(client, job)
        assert (ended["state"], ended["attempt"], ended["losses"]) == ("succeeded", 2, 1)
        assert log_of(client, job, 2) == "found saved in time\n"


def test_a_suspended_job_goes_on_where_it_was_when_it_is_resumed(client: httpx.Client) -> None:
    job = submit(client, "ckpt-suspended", "python", "-c", TOLD, grace_seconds=60)
    wait_until(lambda: get(client, job)["state"] == "running", within=60, what="the job to run")
    wait_until(lambda: "found" in log_of(client, job, 1), within=60, what="the job to wait for its end")
    outcome = client.post(f"{HERE}/jobs/suspend", json={"jobs": [job, "no-such-job"]}).json()["items"]
    assert (outcome[0]["job"]["state"], outcome[1]["code"]) == ("running", "not_found")
    wait_until(lambda: get(client, job)["state"] == "suspended", within=60, what="the job to be suspended")
    held = get(client, job)
    assert held["suspended_at"] and held["checkpoint_commit"] and held["node"] is None
    why = client.get(f"{HERE}/jobs/{job}/why").json()
    assert why["state"] == "suspended" and any("Suspended by admin" in reason for reason in why["reasons"])
    assert client.post(f"{HERE}/jobs/{job}/suspend").json()["state"] == "suspended"
    assert client.post(f"{HERE}/jobs/{job}/resume").json()["state"] == "queued"
    ended = finished(client, job)
    assert (ended["state"], ended["attempt"], ended["retried"], ended["losses"]) == ("succeeded", 2, 0, 0)
    assert log_of(client, job, 2) == "found saved in time\n"
    assert client.post(f"{HERE}/jobs/{job}/resume").json()["code"] == "conflict"


def test_killing_job_agent_and_server_tears_no_checkpoint(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    options = ("--job-uids", "none", "--port")

    def number(name: str) -> int:
        return int((notes / name).read_text()) if (notes / name).exists() else 0

    def until_safe(more: int = 3) -> None:
        least = number("safe") + more
        wait_until(lambda: number("safe") >= least, within=60, what=f"step {least} to be safe")

    with mill_up(tmp_path / "data", *options, "0") as up:
        with up.client() as client:
            submitted = submit(client, "storm", "python", "-c", STORM, str(notes), retries=5, retry_on=["signal"])
        until_safe()
        up.kill()  # its agent goes with it, the job stays
    with mill_up(tmp_path / "data", *options, up.url.rpartition(":")[2], home=up.home) as up, up.client() as client:
        until_safe()
        placements = up.data_dir / "agent" / "placements"
        for _ in range(3):
            before = number("begun")
            command = json.loads(next(placements.glob("*/keeper.json")).read_text())["command"]["pid"]
            os.kill(command, signal.SIGKILL)
            wait_until(lambda before=before: number("begun") > before, within=60, what="the next attempt")
            until_safe()
        (notes / "enough").touch()
        ended = finished(client, submitted)
        assert (ended["state"], ended["attempt"]) == ("succeeded", 4), ended["problem"]
