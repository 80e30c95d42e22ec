"""Scale by load, to zero and back; canaries promoted and rolled back by what the router counted."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.db import runs as run_rows
from millpond.model.endpoint import EndpointState
from millpond.model.run import NewRun, RunState
from millpond.services.endpoints import endpoints
from millpond.services.endpoints.why import why
from millpond.services.runs import runs
from millpond.wire.desired import DesiredPlacement
from millpond.wire.observed import PlacementSeen, ServiceSeen
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.endpoints.test_rounds import Serving
from tests.unit.services.world import World

BOUNDS = [0.001, 0.01, 0.1, 1.0]


class Routed(Serving):
    """The router has counted what a test says: requests and errors by version, how long each took."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.since, self.held = "one", 0
        self.requests: dict[int, int] = {}
        self.errors: dict[int, int] = {}
        self.bucket: dict[int, int] = {}
        self.seconds = 0.0

    def answer(self, version: int, requests: int, *, errors: int = 0, bucket: int = 1, seconds: float = 0.0) -> None:
        self.requests[version] = self.requests.get(version, 0) + requests
        self.errors[version] = self.errors.get(version, 0) + errors
        self.bucket[version] = bucket
        self.seconds += seconds

    def seen(self, placement: DesiredPlacement) -> PlacementSeen:
        found = super().seen(placement)
        service = placement.spec.service
        if service is None or service.role != "router" or found.state != "running":
            return found
        return found.model_copy(update={"service": ServiceSeen(stats=self.stats())})

    def stats(self) -> dict[str, Any]:
        endpoint = endpoints.get(self.world.deps, self.world.project, "xray").endpoint
        versions = [
            {
                "model": "chest", "version": number, "requests": count, "errors": {"500": self.errors[number]},
                "latency": [count if place == self.bucket[number] else 0 for place in range(5)],
                "latency_sum_s": self.seconds, "outstanding": 0,
            }
            for number, count in self.requests.items()
        ]  # fmt: skip
        routed = [{"id": endpoint.id, "held": self.held, "versions": versions}]
        return {"since": self.since, "bounds_s": BOUNDS, "endpoints": routed}

    def count(self) -> int:
        found = endpoints.get(self.world.deps, self.world.project, "xray").endpoint.wanted
        return next(iter(found.values()))


@pytest.fixture
def routed(world: World, model: str) -> Routed:
    create(
        world, environment="none", sites={world.agent.agent.site: {"min": 0, "max": 3}},
        scale={"target_concurrency": 2, "idle_to_zero": "60s"},
        rollout={"step": 50, "every": "10s", "promote_if": {"errors_max": 0.1, "p99_ratio_max": 2, "drift_max": 0.2}},
    )  # fmt: skip
    found = Routed(world)
    found.turn(3)
    assert found.state is EndpointState.READY
    return found


def test_more_requests_at_once_get_more_replicas_and_none_get_none(routed: Routed) -> None:
    for _ in range(4):
        routed.answer(1, 100, seconds=20.0)  # twenty requests at once
        routed.turn(1)
    assert routed.count() == 3
    routed.turn(1)
    assert "requests at once, 2 for each replica" in " ".join(
        why(routed.world.deps, routed.world.project, "xray").reasons
    )
    routed.world.clock.advance(400.0)
    routed.turn(2)
    assert routed.count() == 0
    routed.turn(8)
    assert routed.state is EndpointState.IDLE and routed.versions() == []
    routed.held = 1
    routed.turn(3)
    assert routed.count() == 1 and routed.versions() == [(1, "ready")]


def test_a_server_that_has_just_begun_takes_nothing_away(routed: Routed) -> None:
    endpoints.scale(routed.world.deps, routed.world.maria, routed.world.project, "xray", site=None, least=2, most=3)
    endpoints.scale(routed.world.deps, routed.world.maria, routed.world.project, "xray", site=None, least=0, most=3)
    routed.world.deps.loads.keep_only(())
    routed.turn(3)
    assert routed.count() == 2


def canary(routed: Routed) -> None:
    endpoints.canary(
        routed.world.deps, routed.world.maria, routed.world.project, "xray", model="chest@2", weight=20, unchecked=True
    )  # fmt: skip
    routed.turn(3)
    assert routed.shares() == {1: 80, 2: 20}


def test_a_canary_that_does_well_is_raised_and_promoted(routed: Routed) -> None:
    canary(routed)
    for _ in range(30):
        routed.answer(1, 20)
        routed.answer(2, 20)
        routed.turn(1)
    assert routed.shares() == {2: 100}
    newest = endpoints.list_revisions(routed.world.deps, routed.world.project, "xray")[0]
    assert newest.action == "promote" and newest.created_by == "millpond" and "0 failed" in newest.reason


def test_a_canary_that_fails_is_rolled_back_with_the_reason(routed: Routed) -> None:
    canary(routed)
    routed.answer(1, 100)
    routed.answer(2, 20, errors=20)
    routed.turn(2)
    assert routed.shares() == {1: 100}
    said = " ".join(why(routed.world.deps, routed.world.project, "xray").reasons)
    assert "rollback" in said and "20 of 20 requests failed" in said


def test_a_slow_canary_is_rolled_back_also_when_its_router_was_restarted(routed: Routed) -> None:
    routed.answer(2, 1000, bucket=1)
    canary(routed)
    routed.since, routed.requests, routed.errors = "two", {}, {}
    for _ in range(12):
        routed.answer(1, 20, bucket=1)
        routed.answer(2, 20, bucket=3)
        routed.turn(1)
    assert routed.shares() == {1: 100}
    assert "of the version before" in endpoints.list_revisions(
        routed.world.deps, routed.world.project, "xray"
    )[0].reason  # fmt: skip


def compare(routed: Routed, version: str, level: str, psi: str) -> None:
    """As `mill endpoint drift` keeps it."""
    deps, now = routed.world.deps, routed.world.clock.now()
    tags = {"drift": level, "drift.psi": psi, "drift.column": "outputs.y", "drift.version": version}
    made = runs.create(deps, routed.world.maria, routed.world.project, NewRun(experiment="drift-xray", tags=tags)).run
    with deps.db.write() as tx:
        run_rows.end(tx, made.id, RunState.SUCCEEDED, now)


def test_a_canary_whose_answers_drift_is_rolled_back(routed: Routed) -> None:
    compare(routed, "2", "much", "9.0")  # before the canary had its share
    canary(routed)
    compare(routed, "all", "much", "0.8")
    said = " ".join(why(routed.world.deps, routed.world.project, "xray").reasons)
    assert "Drift of outputs.y: PSI 0.80 (much), see run" in said
    compare(routed, "2", "some", "nonsense")
    routed.world.clock.advance(1)
    compare(routed, "2", "much", "0.5")
    for _ in range(12):
        routed.answer(1, 20)
        routed.answer(2, 20)
        routed.turn(1)
    assert routed.shares() == {1: 100}
    newest = endpoints.list_revisions(routed.world.deps, routed.world.project, "xray")[0]
    assert newest.action == "rollback" and "Drift is 0.50, above 0.2" in newest.reason


def test_an_endpoint_tells_of_much_drift_until_a_newer_comparison_finds_less(routed: Routed) -> None:
    def told() -> tuple[str, ...]:
        routed.turn(1)
        return endpoints.get(routed.world.deps, routed.world.project, "xray").endpoint.reasons

    compare(routed, "all", "much", "0.8")
    first, drifted = told()
    assert first == "1 of 1 replica ready." and drifted.startswith("Drift of outputs.y: PSI 0.80 (much), see run")
    assert routed.state is EndpointState.READY
    assert why(routed.world.deps, routed.world.project, "xray").reasons.count(drifted) == 1
    routed.world.clock.advance(1)
    compare(routed, "1", "none", "0.0")  # of one version: says nothing of all requests
    assert told() == (first, drifted)
    routed.world.clock.advance(1)
    compare(routed, "all", "some", "0.15")
    assert told() == (first,)
