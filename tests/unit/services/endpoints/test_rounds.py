"""Rounds of the loop over endpoints: jobs for replicas and routers, rolling updates, what routers are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millpond.db import endpoints as rows
from millpond.db import jobs, placements, replicas
from millpond.model.endpoint import EndpointState
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobKind
from millpond.model.replica import FailedStarts, Replica, ReplicaState
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.computes import compute_care
from millpond.services.endpoints import endpoints, rounds
from millpond.services.endpoints.why import why
from millpond.services.jobs.job_data import look_after
from millpond.services.jobs.placements import FOREVER_SECONDS
from millpond.services.runs import logs
from millpond.wire.desired import Desired, DesiredPlacement
from millpond.wire.observed import FillSeen, PlacementSeen, ServiceSeen
from tests.unit.services.endpoints.test_endpoints import asked, create
from tests.unit.services.world import World


class Serving:
    """A world whose agent runs what it is told, and says that it is ready if it should."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.broken: set[str] = set()
        # What the process of a version, or of the router, writes before it ends with exit code 1.
        self.failing: dict[str, bytes] = {}
        self.wanted: list[DesiredPlacement] = []
        self.ended: dict[str, PlacementSeen] = {}
        # The number of the configuration that routers say they go by, where they do.
        self.taken: dict[str, int] = {}

    def turn(self, times: int = 1) -> None:
        self.sync()
        for _ in range(times):
            self.world.clock.advance(1.0)
            rounds.advance_all(self.world.deps, self.world.clock.now())
            self.world.schedule()
            told = self.sync()
            done = [FillSeen(cached_id=one.cached_id, attempt=one.attempt, state="ready") for one in told.fills]
            cache_reports.observe_fills(self.world.deps, self.world.agent.agent, done)
            look_after(self.world.deps, self.world.clock.now())
            self.sync()
        rounds.advance_all(self.world.deps, self.world.clock.now())

    def sync(self) -> Desired:
        """The agent tells of everything that it was told to run."""
        seen = [self.seen(one) for one in self.wanted]
        told = self.world.sync(*seen, capabilities={"services": True, "routers": True, "shared_trust": False})
        self.wanted = told.placements
        return told

    def seen(self, placement: DesiredPlacement) -> PlacementSeen:
        if placement.want == "stop":
            return PlacementSeen(id=placement.id, state="finished", exit_code=0, reason="stopped")
        if placement.id in self.ended:
            return self.ended[placement.id]
        service = placement.spec.service
        assert service is not None and placement.service is not None
        written = self.failing.get("router" if service.role == "router" else service.model or "")
        if written is not None:
            logs.append(self.world.deps, self.world.agent.actor, placement.id, 0, written)
            return PlacementSeen(id=placement.id, state="finished", exit_code=1)
        if service.role == "router":
            return PlacementSeen(
                id=placement.id, state="running", service=ServiceSeen(stats={"endpoints": [], **self.taken})
            )
        ready = None if service.model in self.broken else {"http": f"unix:/s/{placement.id}", "load_s": 0.5}
        return PlacementSeen(id=placement.id, state="running", service=ServiceSeen(ready=ready))

    def jobs(self) -> list[Job]:
        with self.world.deps.db.read() as tx:
            living = [one.job_id for one in placements.living(tx)]
            return [one for one in jobs.by_ids(tx, living).values() if one.spec.kind is JobKind.SERVICE]

    def replicas(self, name: str = "xray") -> list[Replica]:
        with self.world.deps.db.read() as tx:
            found = rows.find(tx, self.world.project.id, name)
            assert found is not None
            return list(replicas.living(tx, [found.id]))

    def versions(self) -> list[tuple[int, str]]:
        return sorted((one.version, one.state.value) for one in self.replicas())

    def config(self) -> dict[str, Any]:
        told = self.sync().placements
        router = next(one for one in told if one.spec.service and one.spec.service.role == "router")
        assert router.service is not None
        found: dict[str, Any] = json.loads(router.service.config)
        return found

    def shares(self) -> dict[int, int]:
        return {one["version"]: one["weight"] for one in self.config()["endpoints"][0]["versions"]}

    @property
    def state(self) -> EndpointState:
        return endpoints.get(self.world.deps, self.world.project, "xray").endpoint.state


@pytest.fixture
def serving(world: World, model: str) -> Serving:
    create(world, environment="none")
    return Serving(world)


def test_an_endpoint_becomes_a_replica_and_a_router(serving: Serving) -> None:
    assert serving.state is EndpointState.STARTING
    serving.turn(3)
    assert serving.state is EndpointState.READY and serving.versions() == [(1, "ready")]
    found = {job.spec.service.role: job for job in serving.jobs() if job.spec.service}
    assert found.keys() == {"replica", "router"}
    spec = found["replica"].spec
    assert spec.inputs[0].env == "MILL_INPUT_MODEL" and spec.inputs[0].ref == "1" and not spec.is_preemptible
    told = serving.config()["endpoints"][0]
    assert told["name"] == "xray" and told["replicas"][0]["http"].startswith("unix:/s/")
    assert len(told["replicas"][0]["token"]) > 20 and serving.shares() == {1: 100}
    shown = endpoints.get(serving.world.deps, serving.world.project, "xray").replicas[0]
    assert shown.started["load"] == 0.5 and {"place", "fill"} <= shown.started.keys()


def test_placements_that_serve_offline_never_run_out(serving: Serving) -> None:
    serving.turn(3)
    serving.world.clock.advance(30 * 86_400)
    serving.world.look()
    rounds.advance_all(serving.world.deps, serving.world.clock.now())
    serving.world.schedule()
    with serving.world.deps.db.read() as tx:
        assert {one.valid_seconds for one in placements.living(tx)} == {FOREVER_SECONDS}
    assert serving.versions() == [(1, "ready")], "nothing is placed elsewhere while the agent is silent"


def test_those_that_stop_offline_run_out_as_any_job(world: World, model: str) -> None:
    create(world, environment="none", sites={world.agent.agent.site: {"offline": "stop"}})
    serving = Serving(world)
    serving.turn(3)
    with world.deps.db.read() as tx:
        assert {one.valid_seconds for one in placements.living(tx)} == {world.deps.settings.placement_seconds}


def test_an_update_waits_for_the_new_replica_before_it_drains_the_old(serving: Serving) -> None:
    serving.turn(3)
    serving.broken.add("chest@2")
    deps, maria, project = serving.world.deps, serving.world.maria, serving.world.project
    endpoints.update(deps, maria, project, "xray", asked(model="chest@2", environment="none"), unchecked=True)
    serving.turn(4)
    assert serving.versions() == [(1, "ready"), (2, "starting")] and serving.shares() == {1: 100}
    assert serving.state is EndpointState.UPDATING
    serving.broken.clear()
    serving.turn(1)
    assert (1, "draining") in serving.versions() and serving.shares() == {2: 100}
    assert {one["state"] for one in serving.config()["endpoints"][0]["replicas"]} == {"ready", "draining"}
    serving.turn(6)
    assert serving.versions() == [(2, "ready")] and serving.state is EndpointState.READY


def test_a_canary_and_its_share(serving: Serving) -> None:
    serving.turn(3)
    deps, maria, project = serving.world.deps, serving.world.maria, serving.world.project
    endpoints.canary(deps, maria, project, "xray", model="chest@2", weight=5, unchecked=True)
    serving.turn(3)
    assert serving.versions() == [(1, "ready"), (2, "ready")] and serving.shares() == {1: 95, 2: 5}
    endpoints.roll_back(deps, maria, project, "xray")
    serving.turn(6)
    assert serving.versions() == [(1, "ready")] and serving.shares() == {1: 100}


def test_a_change_is_over_when_the_router_goes_by_it(serving: Serving) -> None:
    serving.turn(3)
    serving.taken = {"revision": 0}
    deps, maria, project = serving.world.deps, serving.world.maria, serving.world.project
    endpoints.canary(deps, maria, project, "xray", model="chest@2", weight=5, unchecked=True)
    serving.turn(4)
    assert serving.versions() == [(1, "ready"), (2, "ready")] and serving.state is EndpointState.UPDATING
    serving.taken = {"revision": serving.config()["revision"]}
    serving.turn()
    assert serving.state is EndpointState.READY


def test_more_replicas_and_fewer(serving: Serving) -> None:
    serving.turn(3)
    deps, maria, project = serving.world.deps, serving.world.maria, serving.world.project
    endpoints.scale(deps, maria, project, "xray", site=None, least=3, most=3)
    serving.turn(3)
    assert serving.versions() == [(1, "ready")] * 3
    endpoints.scale(deps, maria, project, "xray", site=None, least=1, most=1)
    serving.turn(6)
    assert serving.versions() == [(1, "ready")]


def test_a_replica_that_fails_is_tried_again_and_leaves_the_router(serving: Serving) -> None:
    serving.turn(3)
    replica = next(job for job in serving.jobs() if job.spec.service and job.spec.service.role == "replica")
    placement = replica.status.placement_id or ""
    written = b"2026-11-18 14:46:15,189 ERROR cannot load model 'chest' version 1: no ONNX file\n"
    logs.append(serving.world.deps, serving.world.agent.actor, placement, 0, written)
    serving.ended[placement] = PlacementSeen(id=placement, state="finished", exit_code=1)
    serving.sync()
    rounds.advance_all(serving.world.deps, serving.world.clock.now())
    assert serving.replicas()[0].state is ReplicaState.STARTING
    assert serving.config()["endpoints"][0]["replicas"] == []
    assert serving.state is EndpointState.FAILING
    said = "cannot load model 'chest' version 1: no ONNX file (exit code 1; retrying)"
    shown = endpoints.get(serving.world.deps, serving.world.project, "xray")
    assert shown.endpoint.reasons[-1] == said and shown.endpoint.failure is None
    assert shown.replicas[0].reason == said
    assert (
        f"Replica {replica.name} is starting: {said}" in why(serving.world.deps, serving.world.project, "xray").reasons
    )
    serving.turn(4)
    assert serving.versions() == [(1, "ready")] and len(serving.replicas()) == 1
    assert serving.replicas()[0].failures == FailedStarts(before=1, newest=1)


def test_a_version_that_fails_again_and_again_is_told_once_waiting_is_of_no_use(serving: Serving) -> None:
    serving.turn(3)
    deps, maria, project = serving.world.deps, serving.world.maria, serving.world.project
    serving.failing["chest@2"] = b"2026-11-18 14:46:15,189 ERROR cannot load model 'chest': no ONNX file\n"
    endpoints.update(deps, maria, project, "xray", asked(model="chest@2", environment="none"), unchecked=True)
    failures: list[str | None] = []
    for _ in range(12):
        serving.turn()
        failures.append(endpoints.get(deps, project, "xray").endpoint.failure)
    assert failures[0] is None, "one failure may be chance"
    assert failures[-1] is not None and failures[-1].startswith("chest@2 failed to start ")
    assert "cannot load model 'chest': no ONNX file (exit code 1; retrying" in failures[-1]
    assert failures[-1].endswith("chest@1 still serves.") and serving.state is EndpointState.DEGRADED
    assert serving.shares() == {1: 100}
    assert endpoints.get(deps, project, "xray").serving[serving.world.agent.agent.site].reason.startswith("cannot")
    assert endpoints.roll_back(deps, maria, project, "xray").endpoint.failure is None
    serving.turn(6)
    assert serving.state is EndpointState.READY and serving.versions() == [(1, "ready")]


def test_a_router_that_cannot_start_says_why(serving: Serving) -> None:
    serving.failing["router"] = b"2026-11-18 14:46:15,189 ERROR port 8000 is taken by nginx (process 77)\n"
    serving.turn(12)
    shown = endpoints.get(serving.world.deps, serving.world.project, "xray").endpoint
    assert shown.state is EndpointState.FAILING
    assert "port 8000 is taken by nginx (process 77) (exit code 1" in " ".join(shown.reasons)
    assert shown.failure is not None and shown.failure.endswith("port 8000 is taken by nginx (process 77).")
    serving.failing.clear()
    serving.turn(20)
    shown = endpoints.get(serving.world.deps, serving.world.project, "xray").endpoint
    assert shown.state is EndpointState.READY and shown.failure is None


def test_a_stopped_job_is_replaced(serving: Serving) -> None:
    serving.turn(3)
    first = serving.replicas()[0]
    with serving.world.deps.db.write() as tx:
        job = jobs.lock(tx, first.job_id)
        assert job is not None
        placement = job.status.placement_id or ""
    serving.ended[placement] = PlacementSeen(id=placement, state="finished", exit_code=0)
    serving.turn(4)
    assert serving.versions() == [(1, "ready")] and serving.replicas()[0].id != first.id


def test_deleting_stops_everything(serving: Serving) -> None:
    serving.turn(3)
    endpoints.delete(serving.world.deps, serving.world.maria, serving.world.project, "xray")
    serving.turn(8)
    found = endpoints.list_endpoints(serving.world.deps, serving.world.maria, project=None, limit=10, cursor=None)
    assert not found.items and not serving.jobs()
    with serving.world.deps.db.read() as tx:
        assert not replicas.routers(tx)


def test_what_cannot_start_says_why(world: World, model: str) -> None:
    create(world, environment="none")
    world.sync(capabilities={"services": False})
    rounds.advance_all(world.deps, world.clock.now())
    shown = endpoints.get(world.deps, world.project, "xray").endpoint
    assert shown.state is EndpointState.FAILING and "process does not" in " ".join(shown.reasons)


def test_a_service_is_placed_again_at_once_when_its_compute_is_revoked(serving: Serving) -> None:
    serving.turn(3)
    before = {job.id: job.status.placement_id for job in serving.jobs()}
    compute_care.revoke(serving.world.deps, serving.world.maria, serving.world.agent.agent.compute)
    with serving.world.deps.db.read() as tx:
        found = jobs.by_ids(tx, list(before))
        assert not placements.living(tx)
    assert {job.status.state for job in found.values()} == {JobState.QUEUED}
    assert all("no longer knows this service" in " ".join(job.status.reasons) for job in found.values())
