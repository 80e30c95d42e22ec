"""Every route of the API, called by everybody: no one, a stranger, each role, the site administrator, agents, jobs.

Somebody without a role must not be able to tell a project from one that does not exist, so the stranger's answers
are taken twice, before and after the project is made, and compared byte for byte apart from the request id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import Connection

from millpond.api.access import Requirement, requirements_of
from millpond.api.server import api_routes
from millpond.db import (
    caches,
    connections,
    datasets,
    endpoints,
    mirrors,
    notification_channels,
    placements,
    policies,
    projects,
    searches,
    secrets,
    sources,
    users,
)
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.connection import Place, ProjectConnection
from millpond.model.endpoint import Endpoint, EndpointRevision
from millpond.model.endpoint_spec import EndpointSite, EndpointSpec, WeightedVersion
from millpond.model.job import Placement, PlacementState
from millpond.model.job_spec import JobSpec
from millpond.model.mirror import Mirror
from millpond.model.notification import Channel, ChannelType
from millpond.model.people import ActorKind, Role, TokenKind
from millpond.model.search import Search, SearchSpec
from millpond.model.secret import ProjectSecret
from millpond.model.source import Source
from millpond.model.volume import CachedCommit, CachePolicy
from millpond.services.people import tokens
from millpond.testing.builders_work import add_agent, add_commit, add_job, add_volume
from millpond.testing.clock import NOON, FakeClock
from millpond.testing.server import RunningServer, running_server

# One world for all of them, and the last one changes it.
pytestmark = pytest.mark.xdist_group("access")

PROJECT = "walled"
ROLES = {"viewer": Role.VIEWER, "member": Role.MEMBER, "boss": Role.ADMIN}
# What the path's parameters stand for: things that exist in the project once the world is made.
EXISTING = {
    "project": PROJECT,
    "dataset": "xray",
    "job": "job00001",
    "run": "run00001",
    "search": "search01",
    "endpoint": "xray-serving",
    "number": "0",
    "ref": "main",
    "path": "a.txt",
    "user": "viewer",
    "cached": "cached0001",
    "volume": "fast",
    "upload": "upload0001",
    "pack": "0" * 32,
    "page": "0" * 64,
    "placement": "placement1",
    "token": "token00001",
    "connection": "archive",
    "secret": "HUB_KEY",
    "source": "nightly",
    "mirror": "offsite",
    "model": "chest",
    "version": "1",
    "alias": "champion",
    "site": "local",
    "policy": "policy0001",
    "compute": "local",
    "template": "gpu-real",
    "mount": "scratch",
    "elastic_name": "burst",
    "queue": "burst",
    "flow": "train",
    "flow_run": "flowrun001",
    "trigger": "trigger001",
    "backfill": "backfill01",
    "view": "favourites",
    "step": "gate",
    "component": "split",
    "test": "test000001",
    "port": "8888",
    "a": "lake",
    "b": "local",
    "replica": "nothing",
    "tier": "premium",
    "cluster": "dask",
    "workspace": "notes",
    "snapshot": "first",
    "series": "daily",
    "provider": "corp",
    "rule": "rule000001",
    "session": "0123456789abcdef",
    "code": "BCDF-GHJK",
    "backup": "20260101T000000Z-00000000",
    "backup_run": "nothing",
    "channel": "team",
}
MISSING = dict.fromkeys(EXISTING, "nothing-here") | {"project": PROJECT, "port": "1"}
# How full volumes and computes are is for everybody who is signed in, whoever fills them.
SHARED = {
    "GET /volumes",
    "GET /volumes/{volume}",
    "GET /tiers",
    "GET /caches/summary",
    "GET /cache-plan",  # others' commits without their names
    "GET /topology",
    "GET /computes",
    "GET /computes/{compute}",
    "GET /templates",
    "GET /templates/{template}",
    "GET /elastic",
    "GET /elastic/{elastic_name}",
    "GET /queues",
    "GET /queues/{queue}",
    "GET /home",
    "GET /gpu-use",
    "GET /pending",  # others' jobs without their names
    "GET /top",
    "GET /datasets/totals",
    "GET /doctor",
}


@dataclass(frozen=True)
class Call:
    """One method of one route."""

    method: str
    route: APIRoute

    @property
    def needs(self) -> Requirement:
        return requirements_of(self.route.dependant)[0]

    @property
    def is_in_project(self) -> bool:
        return "{project}" in self.route.path

    @property
    def is_by_object(self) -> bool:
        return self.needs.role is not None and not self.is_in_project

    def by(self, client: httpx.Client, names: Mapping[str, str]) -> httpx.Response:
        path = re.sub(r"\{(\w+)(:path)?\}", lambda match: names[match[1]], self.route.path)
        body = {"json": {}} if self.method in ("POST", "PUT", "PATCH") else {}
        return client.request(self.method, path, **body)

    def __str__(self) -> str:
        return f"{self.method} {self.route.path}"


CALLS = [Call(method, route) for route in api_routes() for method in sorted(route.methods or ())]


# The project's things, asked for in other ways than by its own paths. The stranger is a member of `own`.
ELSEWHERE: Sequence[tuple[str, str, Mapping[str, object] | None]] = (
    ("GET", f"/datasets?project={PROJECT}", None),
    ("GET", f"/jobs?project={PROJECT}", None),
    ("GET", f"/datasets/totals?project={PROJECT}", None),
    ("GET", f"/activity?project={PROJECT}", None),
    ("GET", f"/find?q={PROJECT}", None),
    ("GET", "/find?q=xray", None),
    ("GET", "/find?q=sweep", None),
    ("GET", "/searches", None),
    ("GET", f"/searches?project={PROJECT}", None),
    ("GET", "/endpoints", None),
    ("GET", f"/endpoints?project={PROJECT}", None),
    ("GET", f"/projects/own/endpoints/{EXISTING['endpoint']}", None),
    ("GET", f"/find?q={PROJECT}/xray", None),
    ("GET", f"/find?q={EXISTING['job']}", None),
    ("GET", f"/find?q={EXISTING['connection']}", None),
    ("GET", f"/find?q={EXISTING['source']}", None),
    ("GET", f"/runs?project={PROJECT}", None),
    ("GET", f"/caches?project={PROJECT}", None),
    ("GET", f"/caches?dataset={PROJECT}/xray", None),
    ("GET", f"/projects/own/jobs/{EXISTING['job']}", None),
    ("GET", f"/projects/own/runs/{EXISTING['run']}", None),
    ("GET", "/projects/own/datasets/xray", None),
    ("GET", f"/cache-why?dataset={PROJECT}/xray", None),
    ("GET", f"/cache-policies?project={PROJECT}", None),
    ("POST", "/cache-policies", {"dataset": f"{PROJECT}/xray", "volume": EXISTING["volume"]}),
    ("POST", "/caches", {"dataset": f"{PROJECT}/xray"}),
    ("POST", "/caches", {"dataset": "xray", "project": PROJECT}),
    ("POST", "/projects/own/jobs", {"command": ["true"], "inputs": [f"{PROJECT}/xray"]}),
    ("POST", f"/projects/own/runs/{EXISTING['run']}/batch", {"sequence": 0, "writer": "w", "tags": {"a": "b"}}),
    ("PUT", f"/projects/own/members/{EXISTING['user']}", {"role": "viewer"}),
    ("GET", f"/notifications?project={PROJECT}", None),
    ("GET", f"/notifications/choices?project={PROJECT}", None),
    ("PATCH", "/notifications/choices", {"project": PROJECT, "choices": {"job-failed": "all"}}),
    ("GET", f"/projects/own/channels/{EXISTING['channel']}/deliveries", None),
    ("GET", f"/notifications/channels/{EXISTING['channel']}/deliveries", None),
    ("GET", f"/projects/own/connections/{EXISTING['connection']}", None),
    ("POST", f"/projects/own/connections/{EXISTING['connection']}/test", None),
    ("POST", f"/projects/own/sources/{EXISTING['source']}/run", None),
    ("POST", "/projects/own/sources/source0001/run", None),
    ("POST", f"/projects/own/mirrors/{EXISTING['mirror']}/run", None),
    ("GET", "/projects/own/mirrors/mirror0001", None),
    ("POST", "/projects/own/datasets/xray/imports", {"connection": "archive", "uri": "https://files.test/a"}),
)


@dataclass(frozen=True)
class World:
    server: RunningServer
    clients: Mapping[str, httpx.Client]
    # What the stranger was told before the project existed.
    before: Mapping[str, str]
    before_elsewhere: Sequence[str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory: Path = tmp_path_factory.mktemp("server")
    with running_server(directory, clock=FakeClock()) as server:
        stranger = server.user("stranger", roles={"own": Role.MEMBER})
        clients = {"nobody": server.client(), "stranger": stranger, "root": server.admin}
        clients |= {name: server.user(name) for name in ROLES}
        agent = add_agent(server.deps.db)
        clients["agent"] = server.client(agent.token)
        volume = add_volume(server.deps.db)
        before = {str(call): told(call.by(stranger, EXISTING)) for call in CALLS}
        before_elsewhere = ask_elsewhere(stranger)
        clients["job"] = server.client(make_project(server, agent.agent, volume.id))
        yield World(server, clients, before, before_elsewhere)


def make_project(server: RunningServer, agent: Agent, volume_id: str) -> str:
    """A project with members, a dataset, a cached commit and a placed job; the job's own token."""
    db, project = server.deps.db, server.project(PROJECT)
    with db.write() as tx:
        for name, role in ROLES.items():
            user = users.find(tx, name)
            assert user is not None
            projects.set_role(tx, project.id, user.id, role)
    commit_id = add_commit(db, "xray", project=PROJECT)
    add_source(server, project.id)
    placement_id = EXISTING["placement"]
    add_job(db, project=PROJECT, id=EXISTING["job"], run_id=EXISTING["run"], placement_id=placement_id)
    with db.write() as tx:
        spec = SearchSpec(job=JobSpec(command=("train",)))
        searches.insert(tx, Search(EXISTING["search"], project.id, PROJECT, "sweep", "member", "", NOON, spec))
        serving = EndpointSpec(
            name=EXISTING["endpoint"], versions=(WeightedVersion("chest@1"),), sites=(EndpointSite("local"),)
        )
        endpoint = Endpoint(
            id="endpoint01", project_id=project.id, project=PROJECT, name=EXISTING["endpoint"], created_by="member",
            user_id="", created_at=NOON, changed_at=NOON, spec=serving, weights=(100,),
        )  # fmt: skip
        endpoints.insert(tx, endpoint, EndpointRevision(endpoint.id, 1, serving, "member", NOON))
        cached = a_cached_commit(tx, volume_id, project.id, commit_id)
        caches.insert(tx, cached)
        policies.insert(tx, CachePolicy(EXISTING["policy"], volume_id, cached.dataset_id, "main", "member", NOON))
        placement = Placement(
            placement_id, EXISTING["job"], agent.compute_id, agent.id, "local", PlacementState.PLACED, 600, (),
            NOON, NOON, None,
        )  # fmt: skip
        placements.insert(tx, placement)
        return tokens.add(tx, TokenKind.PLACEMENT, name="job", now=NOON, placement_id=placement_id)[1]


def add_source(server: RunningServer, project_id: str) -> None:
    """A connection to nowhere, a source that reads and a mirror that writes through it; a secret; a channel."""
    with server.deps.db.write() as tx:
        dataset, user = datasets.find(tx, project_id, EXISTING["dataset"]), users.find(tx, "member")
        assert dataset is not None and user is not None
        place = Place.parse("https://files.test/")
        name = EXISTING["connection"]
        connections.insert(tx, ProjectConnection("connection1", project_id, name, place, None, NOON, "boss"))
        secret = ProjectSecret("secret0001", project_id, EXISTING["secret"], b"", NOON, "boss", NOON, "boss")
        secrets.insert(tx, secret)
        sources.insert(
            tx,
            Source(
                "source0001", project_id, EXISTING["source"], dataset.id, "connection1", user.id, place.root, True,
                b"", "main", False, 3600, NOON, NOON + timedelta(days=1),
            ),
        )  # fmt: skip
        team = Channel(
            id="channel001", user_id=None, project_id=project_id, name=EXISTING["channel"], type=ChannelType.EMAIL,
            shown="team@example.org", sealed=None, kinds=frozenset(), created_at=NOON, created_by="boss",
        )  # fmt: skip
        notification_channels.insert(tx, team)
        mirrors.insert(
            tx,
            Mirror(
                id="mirror0001", project_id=project_id, name=EXISTING["mirror"], user_id=user.id,
                dataset_id=dataset.id, branch="main", connection_id="connection1", uri=place.root, every_seconds=3600,
                created_at=NOON, next_at=NOON + timedelta(days=1),
            ),
        )  # fmt: skip


def a_cached_commit(tx: Connection, volume_id: str, project_id: str, commit_id: str) -> CachedCommit:
    dataset = datasets.find(tx, project_id, EXISTING["dataset"])
    assert dataset is not None
    return CachedCommit(
        id=EXISTING["cached"], volume_id=volume_id, project_id=project_id, dataset_id=dataset.id, commit_id=commit_id,
        state=CachedState.READY, attempt=1, reserved_bytes=4096, bytes=1, files=1, done_bytes=1, done_files=1,
        requested_by="viewer", requested_at=NOON, ready_at=NOON, used_at=NOON, idle_seconds=None, pinned=False,
        reason="asked for",
    )  # fmt: skip


def told(response: httpx.Response) -> str:
    """Status and body, without the request id."""
    text = response.text
    if text and response.headers.get("Content-Type", "").endswith("json"):
        text = json.dumps({key: value for key, value in response.json().items() if key != "request_id"})
    return f"{response.status_code} {text}"


def ask_elsewhere(client: httpx.Client) -> Sequence[str]:
    return [told(client.request(method, path, json=body)) for method, path, body in ELSEWHERE]


def allowed(call: Call, who: str) -> bool:
    """Whether the requirement of this route is met by `who`, on things that are in the project."""
    kinds = {"agent": ActorKind.AGENT, "job": ActorKind.PLACEMENT}
    needs = call.needs
    if not needs.kinds:
        return True
    if kinds.get(who, ActorKind.USER) not in needs.kinds:
        return False
    if needs.name == "site admin":
        return who == "root"
    roles = {**ROLES, "root": Role.ADMIN, "job": Role.MEMBER, "agent": Role.VIEWER}
    return needs.role is None or (who in roles and roles[who].includes(needs.role))


# All routes in each test: a thousand tests of a few milliseconds take longer to be collected than to be run.
def test_nobody_is_told_to_sign_in(world: World) -> None:
    def is_right(call: Call, response: httpx.Response) -> bool:
        if not call.needs.kinds:
            return response.status_code != 401
        return (response.status_code, response.json()["code"]) == (401, "not_signed_in")

    answers = [(call, call.by(world.clients["nobody"], EXISTING)) for call in CALLS]
    assert [(str(call), told(answer)) for call, answer in answers if not is_right(call, answer)] == []


def test_a_stranger_cannot_tell_that_the_project_exists(world: World) -> None:
    def is_right(call: Call, response: httpx.Response) -> bool:
        if str(call) not in SHARED and told(response) != world.before[str(call)]:
            return False
        is_hidden = (call.is_in_project or call.is_by_object) and ActorKind.USER in call.needs.kinds and call.needs.role
        # 422: the shape of the body is looked at before the object.
        return not is_hidden or response.status_code in (404, 422)

    answers = [(call, call.by(world.clients["stranger"], EXISTING)) for call in CALLS]
    assert [(str(call), told(answer)) for call, answer in answers if not is_right(call, answer)] == []


def test_a_stranger_learns_nothing_elsewhere(world: World) -> None:
    after = ask_elsewhere(world.clients["stranger"])
    for (method, path, _), one, other in zip(ELSEWHERE, world.before_elsewhere, after, strict=True):
        assert one == other, (method, path)


@pytest.mark.parametrize("who", ["viewer", "member", "boss", "root", "agent", "job"])
def test_a_role_that_is_too_small_is_forbidden(world: World, who: str) -> None:
    def is_right(call: Call, response: httpx.Response) -> bool:
        if allowed(call, who):
            return response.status_code not in (401, 403)
        return (response.status_code, response.json()["code"]) in [(403, "forbidden"), (422, "invalid")]

    # Whoever may gets things that do not exist: nothing is changed for those who come after.
    answers = [(call, call.by(world.clients[who], MISSING if allowed(call, who) else EXISTING)) for call in CALLS]
    assert [(str(call), told(answer)) for call, answer in answers if not is_right(call, answer)] == []


def test_jobs_lose_everything_with_their_placement(world: World) -> None:
    job = world.clients["job"]
    path = f"/projects/{PROJECT}/runs/{EXISTING['run']}"
    assert job.get(path).status_code == 200
    with world.server.deps.db.write() as tx:
        placements.end(tx, [EXISTING["placement"]], NOON)
    stale = job.get(path)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_placement")
