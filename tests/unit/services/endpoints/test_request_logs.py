"""Request logs of routers become commits of a dataset: nothing is lost, nothing is doubled. Counts become points."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pyarrow import parquet

from millpond.db import datasets, placements
from millpond.errors import NotFound, Unavailable
from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit
from millpond.model.lineage import LineageDirection
from millpond.services import lineage_graph
from millpond.services.commits import refs
from millpond.services.commits.pages import ProjectPages
from millpond.services.datasets import files
from millpond.services.endpoints import endpoints, metrics, request_logs
from millpond.services.lineage_graph import GraphAsked
from millpond.services.models import versions as model_versions
from millpond.testing.builders_work import add_agent
from millpond.wire.observed import PlacementSeen, ServiceSeen
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.endpoints.test_rounds import Serving
from tests.unit.services.world import World

LOG = {"level": "meta", "to": "xray-requests@main", "every": "10m"}


@pytest.fixture
def serving(world: World, model: str) -> Iterator[Serving]:
    create(world, environment="none", log=LOG)
    found = Serving(world)
    found.turn(3)
    yield found


def rows(*ids: str, endpoint: str = "xray") -> bytes:
    moment = 1_795_007_544.0
    return b"".join(
        json.dumps({"id": one, "time": moment, "endpoint": endpoint, "status": 200}).encode() + b"\n" for one in ids
    )


def placement_of(serving: Serving, role: str = "router") -> str:
    return next(one.id for one in serving.wanted if one.spec.service and one.spec.service.role == role)


def send(serving: Serving, content: bytes) -> None:
    world = serving.world
    endpoint = endpoints.get(world.deps, world.project, "xray").endpoint
    request_logs.receive(world.deps, world.agent.actor, endpoint.id, content)


def commit_due(serving: Serving, minutes: float = 11) -> int:
    serving.world.clock.advance(60 * minutes)
    return request_logs.commit_due(serving.world.deps, serving.world.clock.now())


def head(serving: Serving) -> Commit | None:
    deps, project = serving.world.deps, serving.world.project
    with deps.db.read() as tx:
        found = datasets.find(tx, project.id, "xray-requests")
        return refs.head_commit(tx, found, "main") if found else None


def logged(serving: Serving) -> list[str]:
    """The ids in all files of the newest commit."""
    deps, commit = serving.world.deps, head(serving)
    assert commit is not None
    found = []
    with deps.db.read() as tx:
        dataset = datasets.find(tx, serving.world.project.id, "xray-requests")
    assert dataset is not None
    for entry in TreeReader(ProjectPages(deps.store, deps.pages, dataset.project_id), commit.tree).entries(b""):
        opened = files.open_file(deps, dataset, commit, entry.path.decode())
        content = b"".join(opened.read(deps, 0, opened.size))
        found += parquet.read_table(io.BytesIO(content)).column("id").to_pylist()
    return sorted(found)


def test_files_are_committed_together_when_they_are_due(serving: Serving) -> None:
    send(serving, rows("a", "b"))
    send(serving, rows("c"))
    assert commit_due(serving, minutes=5) == 0 and head(serving) is None
    assert commit_due(serving, minutes=6) == 1
    commit = head(serving)
    assert commit is not None and commit.author == "maria" and "3 requests" in commit.message
    assert logged(serving) == ["a", "b", "c"]
    send(serving, rows("d"))
    assert commit_due(serving) == 1 and logged(serving) == ["a", "b", "c", "d"]


def test_a_commit_leads_to_the_versions_that_answered(serving: Serving) -> None:
    deps, project = serving.world.deps, serving.world.project
    told = [("chest", 2), ("chest", 1), ("chest", 9), ("nothing", 1)]
    lines = [
        json.dumps({"id": f"r{place}", "time": 1_795_007_544.0, "endpoint": "xray", "model": name, "version": number})
        for place, (name, number) in enumerate(told)
    ]
    send(serving, "\n".join(lines).encode())
    assert commit_due(serving) == 1
    commit = head(serving)
    assert commit is not None
    asked = GraphAsked((LineageDirection.UP,), depth=1, limit=10, width=10)
    graph = lineage_graph.of_commit(deps, serving.world.maria, project, "xray-requests", asked)
    versions = {model_versions.get(deps, project, "chest", number).version.commit_id for number in ("1", "2")}
    assert {link.source.id for link in graph.links} == versions


def test_a_file_that_is_sent_twice_is_kept_once_also_after_its_commit(serving: Serving) -> None:
    for _ in range(2):
        send(serving, rows("a"))
    assert commit_due(serving) == 1
    first = head(serving)
    send(serving, rows("a"))
    assert commit_due(serving) == 0 and head(serving) == first and logged(serving) == ["a"]


def test_a_server_killed_after_the_commit_doubles_nothing(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    send(serving, rows("a"))
    with monkeypatch.context() as patched:

        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr("millpond.services.endpoints.request_logs.request_logs.note_committed", killed)
        with pytest.raises(KeyboardInterrupt):
            commit_due(serving)
    first = head(serving)
    assert first is not None
    send(serving, rows("b"))
    commit_due(serving)
    assert logged(serving) == ["a", "b"]


def test_a_store_that_is_away_loses_nothing(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    send(serving, rows("a"))
    with monkeypatch.context() as patched:

        def away(*_: Any, **__: Any) -> None:
            raise Unavailable("The store is away.")

        patched.setattr("millpond.services.endpoints.request_logs.change_branch", away)
        assert commit_due(serving) == 0
    assert commit_due(serving) == 1 and logged(serving) == ["a"]


def test_rows_of_others_and_nonsense_are_left_out(serving: Serving) -> None:
    send(serving, rows("a") + rows("x", endpoint="nothing") + b'nonsense\n{"id":')
    assert commit_due(serving) == 1 and logged(serving) == ["a"]


def test_only_an_agent_of_a_site_of_the_endpoint_sends_its_log(serving: Serving) -> None:
    world = serving.world
    with pytest.raises(NotFound):
        request_logs.receive(world.deps, world.agent.actor, "nothing", rows("a"))
    other = add_agent(world.deps.db, "far", site="elsewhere", now=world.clock.now())
    endpoint = endpoints.get(world.deps, world.project, "xray").endpoint
    with pytest.raises(NotFound):
        request_logs.receive(world.deps, other.actor, endpoint.id, rows("a"))


def test_counts_of_routers_become_points(serving: Serving) -> None:
    world = serving.world
    endpoint_id = endpoints.get(world.deps, world.project, "xray").endpoint.id
    for number in range(5):
        version = {
            "model": "chest-xray", "version": 1, "requests": number * 30, "errors": {"500": number},
            "latency": [number * 30, 0], "replicas_ready": 1, "outstanding": 2,
        }  # fmt: skip
        stats = {
            "since": "s",
            "started": world.clock.now().timestamp() - 1000,
            "bounds_s": [0.01],
            "endpoints": [{"id": endpoint_id, "held": 1, "versions": [version]}],
        }
        router = placement_of(serving)
        world.sync(PlacementSeen(id=router, state="running", service=ServiceSeen(stats=stats)))
        for _ in range(2):
            assert metrics.sample_all(world.deps, world.clock.now()) == 1
        world.clock.advance(15)
    step, points = metrics.metrics(world.deps, world.project, "xray", since=timedelta(hours=1), step_seconds=60)
    assert step == 60 and sum(point.requests for point in points) == 120
    assert sum(point.errors for point in points) == 4
    assert {(point.version, point.replicas, point.held, point.outstanding) for point in points} == {
        ("chest-xray@1", 1, 1, 2)
    }
    assert all(point.p50_ms is None or point.p50_ms <= 10 for point in points)
    with pytest.raises(NotFound):
        metrics.metrics(world.deps, world.project, "nothing", since=timedelta(hours=1))


def test_a_router_that_is_silent_is_not_sampled(serving: Serving) -> None:
    serving.world.clock.advance(600)
    assert metrics.sample_all(serving.world.deps, serving.world.clock.now()) == 0
    with serving.world.deps.db.read() as tx:
        assert placements.living(tx)
