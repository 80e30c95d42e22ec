"""What a job's own token opens: its run, its inputs, its outputs; nothing at all once its placement is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from millpond.db import placements
from millpond.model.job import Placement, PlacementState
from millpond.model.job_spec import JobInput
from millpond.model.people import Role, TokenKind
from millpond.services.people import tokens
from millpond.testing.builders_work import add_agent, add_commit, add_job
from millpond.testing.clock import NOON, FakeClock
from millpond.testing.server import RunningServer, running_server

MINE, OTHER = "/projects/default", "/projects/theirs"
LOGGED = {"upload": "upload0001", "puts": [{"path": "a.txt"}]}
BATCH = {"sequence": 0, "writer": "w", "tags": {"a": "b"}}
COMMIT = {"upload": "none", "tree": "0" * 64, "branch": "main"}


@dataclass(frozen=True)
class World:
    server: RunningServer
    job: httpx.Client
    # By what they are: an input of the same project and one of another, something that is neither, in both.
    commits: dict[str, str]
    upload: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_server(tmp_path_factory.mktemp("server"), clock=FakeClock()) as server:
        db = server.deps.db
        server.project("theirs")
        commits = {
            "input": add_commit(db, "xray"),
            "secret": add_commit(db, "secret"),
            "far input": add_commit(db, "shared", project="theirs"),
            "far secret": add_commit(db, "private", project="theirs"),
        }
        agent = add_agent(db).agent
        inputs = (
            JobInput("default/xray", "main", commits["input"], "", "MILL_DATA_XRAY"),
            JobInput("theirs/shared", "main", commits["far input"], "", "MILL_DATA_SHARED"),
        )
        add_job(db, id="job00001", run_id="run00001", placement_id="placement1", inputs=inputs)
        add_job(db, id="job00002", run_id="run00002", name="other")
        member = server.user("maria", roles={"default": Role.MEMBER})
        upload = member.post(f"{MINE}/uploads", json={}).json()["id"]
        with db.write() as tx:
            placement = Placement(
                "placement1",
                "job00001",
                agent.compute_id,
                agent.id,
                "local",
                PlacementState.PLACED,
                600,
                (),
                NOON,
                NOON,
                None,
            )  # fmt: skip
            placements.insert(tx, placement)
            secret = tokens.add(tx, TokenKind.PLACEMENT, name="job", now=NOON, placement_id="placement1")[1]
        yield World(server, server.client(secret), commits, upload)


def ask(world: World, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
    answer = world.job.request(method, path.format(upload=world.upload, **_named(world)), json=body)
    is_problem = answer.status_code >= 400
    return answer.status_code, answer.json()["code"] if is_problem else ""


def _named(world: World) -> dict[str, str]:
    return {name.replace(" ", "_"): commit for name, commit in world.commits.items()}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{MINE}/runs/run00001", None, 200),
        ("POST", f"{MINE}/runs/run00001/batch", BATCH, 204),
        ("PUT", f"{MINE}/runs/run00001/artifacts/a.txt", {}, 201),
        ("GET", f"{MINE}/runs/run00001/artifacts", None, 200),
        ("POST", f"{MINE}/runs", {"id": "inside000001"}, 201),
        ("POST", f"{MINE}/runs", {"parent": "run00001"}, 201),
        ("GET", f"{MINE}/datasets/xray/commits/{{input}}", None, 200),
        ("GET", f"{OTHER}/datasets/shared/commits/{{far_input}}", None, 200),
        ("POST", f"{MINE}/uploads", {}, 201),
    ],
)
def test_its_own_things(world: World, method: str, path: str, body: dict[str, Any] | None, status: int) -> None:
    assert ask(world, method, path, body) == (status, "")


def test_the_first_run_that_an_mlflow_script_creates_is_the_jobs_own(world: World) -> None:
    url = f"{str(world.job.base_url).partition('/api/v1')[0]}/mlflow/default/api/2.0/mlflow"
    number = world.job.post(f"{url}/experiments/create", json={"name": "digits"}).json()["experiment_id"]
    asked = {"experiment_id": number, "run_name": "first"}
    first = world.job.post(f"{url}/runs/create", json=asked).json()["run"]["info"]
    second = world.job.post(f"{url}/runs/create", json=asked).json()["run"]
    assert (first["run_id"], first["run_name"], first["experiment_id"]) == ("run00001", "first", number)
    assert second["info"]["run_id"] != "run00001"
    parents = [tag["value"] for tag in second["data"]["tags"] if tag["key"] == "mlflow.parentRunId"]
    assert parents == ["run00001"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "runs/get?run_id=run00001", None, 200),
        ("POST", "runs/log-metric", {"run_id": "run00001", "key": "m", "value": 1, "timestamp": 1}, 200),
        ("GET", "runs/get?run_id=run00002", None, 404),
        ("POST", "runs/log-metric", {"run_id": "run00002", "key": "m", "value": 1, "timestamp": 1}, 404),
        ("GET", "metrics/get-history-bulk?run_id=run00002&metric_key=m", None, 404),
        ("POST", "runs/search", {"experiment_ids": ["0"]}, 403),
        ("POST", "experiments/update", {"experiment_id": "1", "new_name": "x"}, 403),
        ("POST", "experiments/delete", {"experiment_id": "1"}, 403),
        ("POST", "registered-models/create", {"name": "net"}, 200),
        ("GET", "registered-models/search", None, 200),
        ("POST", "model-versions/create", {"name": "net", "source": "runs:/run00002/net"}, 404),
        ("POST", "registered-models/rename", {"name": "net", "new_name": "x"}, 403),
        ("DELETE", "registered-models/delete", {"name": "net"}, 403),
        ("DELETE", "model-versions/delete", {"name": "net", "version": "1"}, 403),
    ],
)
def test_mlflows_api_gives_a_job_no_more(
    world: World, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    url = str(world.job.base_url).partition("/api/v1")[0]
    answer = world.job.request(method, f"{url}/mlflow/default/api/2.0/mlflow/{path}", json=body)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        # Runs of others, also of the same project.
        ("GET", f"{MINE}/runs/run00002", None),
        ("POST", f"{MINE}/runs/run00002/batch", BATCH),
        ("PUT", f"{MINE}/runs/run00002/artifacts/a.txt", {}),
        ("POST", f"{MINE}/runs/run00002/artifacts", LOGGED),
        ("GET", f"{MINE}/runs/run00002/artifacts", None),
        ("GET", f"{MINE}/runs/run00002/artifacts/a.txt", None),
        ("POST", f"{MINE}/datasets/.artifacts/commits", COMMIT),
        ("DELETE", f"{MINE}/runs/run00001", None),
        # Runs anywhere but inside its own.
        ("POST", f"{MINE}/runs", {"parent": "run00002"}),
        ("PATCH", f"{MINE}/runs/run00002", {"notes": "x"}),
        ("GET", f"{MINE}/runs/run00002/metrics", None),
        # Data that is not its own, also of the same project, and of one that another input comes from.
        ("GET", f"{MINE}/datasets/secret/commits/{{secret}}", None),
        ("POST", f"{MINE}/datasets/secret/commits/{{secret}}/urls", {}),
        ("GET", f"{OTHER}/datasets/private/commits/{{far_secret}}", None),
        ("POST", f"{OTHER}/datasets/private/commits/{{far_secret}}/urls", {}),
        ("GET", f"{MINE}/datasets/xray/commits/{{input}}/entries", None),
        ("GET", f"{MINE}/datasets/xray/commits", None),
        # Commits anywhere but on the branch of its outputs, and uploads of others.
        ("POST", f"{MINE}/datasets/xray/commits", COMMIT),
        ("POST", f"{MINE}/datasets/.outputs/commits", COMMIT | {"branch": "job00002"}),
        ("POST", f"{MINE}/datasets/.code/commits", COMMIT),
        ("POST", f"{OTHER}/datasets/shared/commits", COMMIT),
        ("POST", f"{OTHER}/uploads", {}),
        ("POST", f"{MINE}/uploads/{{upload}}/missing", {}),
        ("POST", f"{MINE}/datasets/xray/edits", {"branch": "main", "changes": []}),
        # Whatever people do.
        ("POST", f"{MINE}/jobs", {"command": ["true"]}),
        ("GET", f"{MINE}/jobs/job00001", None),
        ("DELETE", f"{MINE}/datasets/xray", None),
        ("POST", "/tokens", {"name": "mine"}),
        ("GET", "/projects", None),
        ("GET", "/computes", None),
        ("POST", "/caches", {"dataset": "default/xray"}),
        # Whatever agents do.
        ("PUT", "/placements/placement1/log?offset=0", {}),
        ("POST", "/agents/sync", {}),
    ],
)
def test_nothing_else(world: World, method: str, path: str, body: dict[str, Any] | None) -> None:
    status, code = ask(world, method, path, body)
    assert (status, code) in [(403, "forbidden"), (404, "not_found")]


def test_nothing_once_the_placement_is_over(world: World) -> None:
    with world.server.deps.db.write() as tx:
        placements.end(tx, ["placement1"], NOON)
    for method, path, body in (
        ("GET", f"{MINE}/runs/run00001", None),
        ("POST", f"{MINE}/runs/run00001/batch", BATCH | {"sequence": 1}),
        ("GET", f"{MINE}/datasets/xray/commits/{{input}}", None),
        ("POST", f"{MINE}/uploads", {}),
        ("POST", f"{MINE}/datasets/.outputs/commits", COMMIT | {"branch": "job00001"}),
    ):
        assert ask(world, method, path, body) == (409, "stale_placement")
