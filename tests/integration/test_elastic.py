"""Elastic computes with a provisioner that really starts agents here: they come, run jobs, and go."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until

HERE = "/projects/default"
LOCAL = Path(__file__).parents[2] / "deploy" / "provisioners" / "local"
OPTIONS = ("--no-agent", "--job-uids", "none", "--port")


@pytest.fixture
def provisioners(tmp_path: Path) -> Path:
    """`local` starts agents; `never` starts something that never joins; `slow` starts one and does not return."""
    folder = tmp_path / "data" / "provisioners"
    for name in ("local", "never", "slow"):
        shutil.copytree(LOCAL, folder / name)
    create = (LOCAL / "create").read_text()
    never = create.replace("${MILL_OPTION_MILL:-mill} agent", "sh -c 'sleep 1000; true' sh")
    assert never != create
    (folder / "never" / "create").write_text(never)
    (folder / "slow" / "create").write_text(f"{create}\nsleep 1000\n")
    return folder


@pytest.fixture
def up(tmp_path: Path, provisioners: Path) -> Iterator[MillUp]:
    with mill_up(tmp_path / "data", *OPTIONS, "0") as running:
        yield running
    stop_machines(tmp_path)


def stop_machines(root: Path) -> None:
    """Also what a test that failed has left."""
    for pid in root.glob("machines/*/*/*/pid"):
        subprocess.run(["kill", "-9", pid.read_text().strip()], check=False, capture_output=True)


def make(client: httpx.Client, root: Path, name: str, provisioner: str = "local", **changes: Any) -> None:
    options = {
        "state": str(root / "machines"),
        "mill": f"{sys.executable} -m millpond",
        "arguments": "--job-uids none",
    }
    body = {
        "name": name, "provisioner": provisioner, "site": "local", "options": options, "cpus": 1, "gpus": 1,
        "memory_bytes": 10**9, "maximum": 2, "wait_seconds": 0, "idle_seconds": 1, "trust_all": True, **changes,
    }  # fmt: skip
    answer = client.post("/elastic", json=body)
    assert answer.status_code == 201, answer.text


def submit(client: httpx.Client, name: str, *command: str, **spec: Any) -> str:
    answer = client.post(f"{HERE}/jobs", json={"name": name, "command": list(command), "gpu_hundredths": 100, **spec})
    assert answer.status_code == 201, answer.text
    job: str = answer.json()["id"]
    return job


def succeeded(client: httpx.Client, *names: str) -> None:
    def ended() -> bool:
        return all(client.get(f"{HERE}/jobs/{name}").json()["ended_at"] for name in names)

    wait_until(ended, within=90, what=f"the end of {names}")
    assert {client.get(f"{HERE}/jobs/{name}").json()["state"] for name in names} == {"succeeded"}


def shown(client: httpx.Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/elastic/{name}").json()
    return found


def machines(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("machines/*/*/*"))


def test_machines_come_for_jobs_that_wait_and_go_when_idle(up: MillUp, tmp_path: Path) -> None:
    with up.client() as client:
        make(client, tmp_path, "burst")
        barrier = tmp_path / "both"
        # Each waits for the other: two machines of one GPU must be there at once.
        both = f"[ -e {barrier}-one ] && [ -e {barrier}-two ]"
        wait = f"touch {barrier}-$MILL_JOB_NAME; until {both}; do sleep 0.1; done"
        for name in ("one", "two"):
            submit(client, name, "sh", "-c", wait)
        succeeded(client, "one", "two")
        wait_until(lambda: machines(tmp_path) == [], within=60, what="idle machines to go")
        wait_until(lambda: {node["state"] for node in shown(client, "burst")["nodes"]} == {"gone"}, within=30)
        found = shown(client, "burst")
        assert len(found["nodes"]) == 2 and found["failures"] == 0
        assert all(node["reason"].startswith("Idle for") and not node["problem"] for node in found["nodes"])
        computes = [compute["name"] for compute in client.get("/computes").json()["items"]]
        assert computes == [], "theirs are detached"
        assert client.delete("/elastic/burst").status_code == 204


def test_a_machine_that_never_comes_up_is_given_up_and_retried_elsewhere(up: MillUp, tmp_path: Path) -> None:
    with up.client() as client:
        make(client, tmp_path, "cheap", "never", price_per_hour=0.1, start_seconds=2)
        make(client, tmp_path, "dear", price_per_hour=5.0)
        submit(client, "job", "true")
        succeeded(client, "job")
        found = shown(client, "cheap")
        assert (found["failures"], found["problem"]) == (1, "Its agent did not join within 2.0 s.")
        wait_until(lambda: machines(tmp_path) == [], within=60, what="both machines to go")
        assert [node["state"] for node in shown(client, "cheap")["nodes"]] == ["gone"]


@pytest.mark.long
def test_a_server_killed_between_create_and_its_record_loses_no_machine(tmp_path: Path, provisioners: Path) -> None:
    try:
        with mill_up(tmp_path / "data", *OPTIONS, "0") as up:
            with up.client() as client:
                make(client, tmp_path, "burst", "slow", maximum=1)
                submit(client, "job", "true")
            wait_until(lambda: list(tmp_path.glob("machines/*/*/*/pid")), within=60, what="the machine")
            assert len(machines(tmp_path)) == 1
            up.kill()
        port = up.url.rpartition(":")[2]
        with mill_up(tmp_path / "data", *OPTIONS, port, home=up.home) as up, up.client() as client:
            # One that no record is about: of a database that was lost.
            unknown = next(tmp_path.glob("machines/*/*")) / "burst-unknown"
            unknown.mkdir()
            succeeded(client, "job")
            assert len(shown(client, "burst")["nodes"]) == 1, "the machine that was there is used"
            wait_until(lambda: machines(tmp_path) == [], within=60, what="all machines to go")
    finally:
        stop_machines(tmp_path)


def test_what_cannot_be_is_refused(up: MillUp, tmp_path: Path) -> None:
    with up.client() as client:
        answer = client.post("/elastic", json={"name": "burst", "provisioner": "azure", "site": "local"})
        assert answer.status_code == 422 and "has no executable `create`" in answer.json()["detail"]
        body = {"name": "burst", "provisioner": "local", "site": "local", "minimum": 2, "maximum": 1}
        assert client.post("/elastic", json=body).json()["detail"] == "The minimum is larger than the maximum."
        body = {"name": "burst", "provisioner": "../../bin", "site": "local"}
        assert client.post("/elastic", json=body).json()["code"] == "bad_name"
        assert client.post(f"{HERE}/jobs", json={"command": ["true"], "compute": "burst"}).status_code == 404
        make(client, tmp_path, "burst", maximum=1, minimum=1)
        too_large = client.post(f"{HERE}/jobs", json={"command": ["true"], "gpu_hundredths": 900})
        assert too_large.json()["code"] == "does_not_fit"
        wait_until(lambda: shown(client, "burst")["ready"] == 1, within=60, what="the least number of machines")
        assert client.delete("/elastic/burst").json()["code"] == "in_use"
        kept = {
            key: value for key, value in shown(client, "burst").items() if key in ("provisioner", "site", "options")
        }
        assert client.put("/elastic/burst", json={**kept, "maximum": 0}).status_code == 200
        wait_until(lambda: machines(tmp_path) == [], within=60, what="the machine to go")
