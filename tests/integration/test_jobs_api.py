"""Jobs through the API: a real server and its scheduler, and an agent played by the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.loops import schedule
from millpond.loops.runner import LoopRunner
from millpond.model.people import Role
from millpond.testing.builders_work import GB, add_agent, add_volume, observed
from millpond.testing.server import RunningServer, running_server
from millpond.wire.desired import Desired
from millpond.wire.observed import NodeFacts, PlacementSeen


@dataclass
class PlayedAgent:
    """Says what a test lets it say."""

    client: httpx.Client
    revision: str = ""

    def sync(self, *placements: PlacementSeen, wait: float = 0, **told: Any) -> Desired:
        body = observed(
            placements=list(placements), wait_seconds=wait, seen_revision=self.revision if wait else "", **told
        )
        response = self.client.post("/agents/sync", json=body.model_dump(mode="json"))
        assert response.status_code == 200, response.text
        answer = Desired.model_validate_json(response.content)
        self.revision = answer.revision
        return answer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path) as running:
        runner = LoopRunner(schedule.loops(running.deps), clock=running.deps.clock, hub=running.hub)
        runner.start()
        yield running
        runner.stop()


@pytest.fixture
def agent(server: RunningServer) -> PlayedAgent:
    now = server.deps.clock.now()
    added = add_agent(server.deps.db, now=now, seen=False)
    add_volume(server.deps.db, now=now)
    played = PlayedAgent(server.client(added.token))
    played.sync()
    return played


@pytest.fixture
def maria(server: RunningServer) -> httpx.Client:
    return server.user("maria", roles={"default": Role.MEMBER})


JOBS = "/projects/default/jobs"


def submit(client: httpx.Client, **wanted: Any) -> dict[str, Any]:
    response = client.post(JOBS, json={"command": ["true"], **wanted})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def placement_of(agent: PlayedAgent, job_id: str) -> str:
    """Wait, as an agent does, until the job is wanted."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for placement in agent.sync(wait=5).placements:
            if placement.job_id == job_id:
                return placement.id
    raise AssertionError(f"job {job_id} was not placed")


def test_a_jobs_whole_life(server: RunningServer, agent: PlayedAgent, maria: httpx.Client) -> None:
    job = submit(maria, name="train", command=["python", "train.py"], env={"A": "1"})
    assert (job["state"], job["written"], job["number"]) == ("queued", "train", 1)
    placement = placement_of(agent, job["id"])
    now = server.deps.clock.now()
    agent.sync(PlacementSeen(id=placement, state="running", started_at=now))
    assert maria.get(f"{JOBS}/train").json()["state"] == "running"

    log = agent.client.put(f"/placements/{placement}/log?offset=0", content=b"epoch 1\n")
    assert log.json()["offset"] == 8
    usage = {"at": now.isoformat(), "cpu_percent": 99.5, "memory_bytes": 1, "read_bytes": 2, "write_bytes": 3}
    assert agent.client.post(f"/placements/{placement}/usage", json={"samples": [usage]}).status_code == 204
    read = maria.get(f"{JOBS}/train/log")
    assert (read.content, read.headers["X-Mill-Offset"]) == (b"epoch 1\n", "8")
    assert "X-Mill-Complete" not in read.headers

    agent.sync(PlacementSeen(id=placement, state="finished", started_at=now, exited_at=now, exit_code=0))
    ended = maria.get(f"{JOBS}/{job['id']}").json()
    assert (ended["state"], ended["exit_code"], ended["compute"]) == ("succeeded", 0, "local")
    assert ended["ledger"]["total"] >= 0
    assert maria.get(f"{JOBS}/train/log?offset=-3").headers["X-Mill-Complete"] == "1"
    assert maria.get(f"{JOBS}/train/usage").json()["items"][0]["cpu_percent"] == 99.5
    assert maria.get(f"/projects/default/runs/{job['run_id']}").json()["state"] == "succeeded"
    assert maria.get(f"{JOBS}/train/why").json()["reasons"][-1] == "Succeeded."


def test_an_agent_hears_of_a_job_while_it_waits(agent: PlayedAgent, maria: httpx.Client) -> None:
    agent.sync()
    answers: list[tuple[float, Desired]] = []

    def wait() -> None:
        begin = time.monotonic()
        answer = agent.sync(wait=30)
        answers.append((time.monotonic() - begin, answer))

    waiting = threading.Thread(target=wait)
    waiting.start()
    job = submit(maria)
    waiting.join(25)
    (seconds, answer) = answers[0]
    assert [placement.job_id for placement in answer.placements] == [job["id"]]
    assert seconds < 10


def test_an_agent_with_nothing_new_waits_its_time(agent: PlayedAgent) -> None:
    first = agent.sync()
    begin = time.monotonic()
    assert agent.sync(wait=0.3).revision == first.revision
    assert time.monotonic() - begin >= 0.3


def test_a_stop_reaches_the_agent(server: RunningServer, agent: PlayedAgent, maria: httpx.Client) -> None:
    job = submit(maria, name="train")
    placement = placement_of(agent, job["id"])
    running = PlacementSeen(id=placement, state="running", started_at=server.deps.clock.now())
    agent.sync(running)
    assert maria.post(f"{JOBS}/train/stop").json()["state"] == "running"
    assert [wanted.want for wanted in agent.sync(running, wait=5).placements] == ["stop"]
    agent.sync(PlacementSeen(id=placement, state="finished", started_at=server.deps.clock.now(), signal=15))
    assert maria.get(f"{JOBS}/train").json()["state"] == "cancelled"
    assert agent.client.put(f"/placements/{placement}/log?offset=0", content=b"x").json()["code"] == "stale_placement"


def test_a_name_that_is_taken_names_its_holder(agent: PlayedAgent, maria: httpx.Client) -> None:
    job = submit(maria, name="train")
    refused = maria.post(JOBS, json={"name": "train", "command": ["true"]})
    assert refused.status_code == 409
    problem = refused.json()
    assert (problem["code"], problem["details"]["id"]) == ("name_taken", job["id"])


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"command": []}, 422, "invalid"),
        ({"command": ["true"], "name": "My Job"}, 400, "bad_name"),
        ({"command": ["true"], "gpu_hundredths": 100}, 409, "does_not_fit"),
        ({"command": ["true"], "cpu": 64}, 409, "does_not_fit"),
        ({"command": ["true"], "cpu": 10**12}, 422, "invalid"),
        ({"command": ["true"], "inputs": ["nothing"]}, 404, "not_found"),
        ({"command": ["true"], "env": {"MILL_X": "1"}}, 422, "invalid"),
        ({"command": ["true"], "unknown": 1}, 422, "invalid"),
    ],
)
def test_bad_submissions(agent: PlayedAgent, maria: httpx.Client, body: dict[str, Any], status: int, code: str) -> None:
    refused = maria.post(JOBS, json=body)
    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_job_in_the_bin(agent: PlayedAgent, maria: httpx.Client) -> None:
    submit(maria, name="train")
    assert maria.delete(f"{JOBS}/train").json()["deleted_at"] is not None
    assert maria.get("/jobs").json()["items"] == []
    assert [job["name"] for job in maria.get("/jobs?deleted=1").json()["items"]] == ["train"]
    assert maria.post(f"{JOBS}/train/undelete").json()["deleted_at"] is None


def test_numbers_are_written_in_the_path(agent: PlayedAgent, maria: httpx.Client) -> None:
    first = submit(maria, name="train")
    agent.sync(PlacementSeen(id=placement_of(agent, first["id"]), state="finished", problem="it broke"))
    submit(maria, name="train")
    assert maria.get(f"{JOBS}/train%231").json()["written"] == "train#1"
    assert maria.get(f"{JOBS}/train").json()["number"] == 2
    missing = maria.get(f"{JOBS}/trian")
    assert (missing.status_code, missing.json()["details"]["near"]) == (404, ["train"])


def test_a_stranger_gets_the_answer_of_a_name_that_does_not_exist(
    server: RunningServer, agent: PlayedAgent, maria: httpx.Client
) -> None:
    job = submit(maria, name="train")
    stranger = server.user("stranger")
    hidden, unknown = stranger.get(f"{JOBS}/{job['id']}"), stranger.get("/projects/nothing/jobs/train")
    assert hidden.status_code == unknown.status_code == 404
    assert stranger.get("/jobs").json()["items"] == []
    assert stranger.get("/jobs?project=default").status_code == 404


def test_a_placements_token_reports_to_its_run_and_nothing_else(
    server: RunningServer, agent: PlayedAgent, maria: httpx.Client
) -> None:
    job, other = submit(maria, name="train"), submit(maria, name="other")
    placement_of(agent, job["id"])
    (desired,) = [wanted for wanted in agent.sync().placements if wanted.job_id == job["id"]]
    own = server.client(desired.token)
    run = f"/projects/default/runs/{job['run_id']}"
    point = {"key": "loss", "value": 0.5, "step": 1, "at": server.deps.clock.now().isoformat()}
    batch = {"sequence": 0, "writer": "w", "metrics": [point]}
    for _ in range(2):
        assert own.post(f"{run}/batch", json=batch).status_code == 204
    assert own.put(f"{run}/artifacts/plots/loss.png", content=b"png").status_code == 201
    assert own.get(run).json()["metrics"] == {"loss": 0.5}
    (found,) = maria.get(f"{run}/metrics").json()["items"]
    assert (found["key"], found["steps"], found["values"], found["total"]) == ("loss", [1], [0.5], 1)
    artifact = maria.get(f"{run}/artifacts/plots/loss.png")
    assert (artifact.content, artifact.headers["X-Content-Type-Options"]) == (b"png", "nosniff")
    assert "sandbox" in artifact.headers["Content-Security-Policy"]

    assert own.post(f"/projects/default/runs/{other['run_id']}/batch", json=batch).status_code == 404
    assert own.post(JOBS, json={"command": ["true"]}).status_code == 403
    assert own.get("/jobs").status_code == 403
    agent.sync(PlacementSeen(id=desired.id, state="finished", problem="it broke"))
    assert own.post(f"{run}/batch", json=batch | {"sequence": 1}).json()["code"] == "stale_placement"


def test_home_and_computes(agent: PlayedAgent, maria: httpx.Client) -> None:
    agent.sync(nodes=[NodeFacts(name="n1", cpus=8, memory_bytes=16 * GB, gpus=2, declared=True)])
    submit(maria, name="train", gpu_hundredths=50)
    (compute,) = maria.get("/computes").json()["items"]
    assert (compute["name"], compute["connected"], compute["nodes"][0]["gpus"]) == ("local", True, 2)
    home = maria.get("/home").json()
    assert (home["gpus_total"], home["computes_connected"]) == (2, 1)
    assert [job["name"] for job in home["recent_jobs"]] == ["train"]
