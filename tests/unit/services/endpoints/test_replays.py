"""Replays on a version: one job for each of the same log, tried again if it failed, refused where nothing is logged."""

from __future__ import annotations

import pytest

from millpond.errors import Conflict, Forbidden, NotFound
from millpond.model.endpoint_analysis import AnalysisState
from millpond.model.people import Role
from millpond.services.endpoints import analyses, replays
from millpond.services.endpoints.replays import ReplayAsked
from millpond.services.jobs import jobs
from tests.unit.services.endpoints.test_drift_watch import LOG, job_of, log_requests
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.world import World


@pytest.fixture
def logged(world: World, model: str) -> World:
    create(world, environment="none", log=LOG, sites={world.agent.agent.site: {"min": 0, "max": 1}})
    log_requests(world)
    return world


def start(world: World, asked: ReplayAsked) -> str:
    return replays.start(world.deps, world.maria, world.project, "xray", asked).id


def test_the_same_replay_of_the_same_log_is_one(logged: World) -> None:
    found = replays.start(logged.deps, logged.maria, logged.project, "xray", ReplayAsked("chest@candidate", 3600))
    spec = job_of(logged, found).spec
    assert [(one.env, one.ref) for one in spec.inputs] == [("MILL_INPUT_LOG", "main"), ("MILL_INPUT_MODEL", "2")]
    assert spec.experiment == "replay-xray" and spec.params["candidate"] == "chest@2"
    assert (found.until - found.since).total_seconds() == 3600 and found.asked["model"] == "chest@2"
    logged.clock.advance(60)
    assert start(logged, ReplayAsked("chest@2", 3600)) == found.id
    assert start(logged, ReplayAsked("chest@2", 3600, site=logged.agent.agent.site)) == found.id
    assert start(logged, ReplayAsked("chest@3", 3600)) != found.id
    assert start(logged, ReplayAsked("chest@2", 3600, limit=5)) != found.id
    log_requests(logged)
    assert start(logged, ReplayAsked("chest@2", 3600)) != found.id, "there are other requests"


def test_one_that_failed_is_tried_again(logged: World) -> None:
    deps, maria, project = logged.deps, logged.maria, logged.project
    first = replays.start(deps, maria, project, "xray", ReplayAsked("chest@2"))
    jobs.stop(deps, maria, project, first.job_id or "")
    analyses.settle_all(deps, logged.clock.now())
    _, (failed,) = analyses.list_analyses(deps, project, "xray", first.kind, limit=10)
    assert failed.state is AnalysisState.FAILED and "cancelled" in failed.error
    assert start(logged, ReplayAsked("chest@2")) != first.id


def test_what_cannot_be_replayed_is_refused(logged: World) -> None:
    deps, maria, project = logged.deps, logged.maria, logged.project
    with pytest.raises(NotFound, match="9"):
        start(logged, ReplayAsked("chest@9"))
    with pytest.raises(NotFound):
        start(logged, ReplayAsked("chest@2", site="nowhere"))
    create(logged, "plain", environment="none")
    with pytest.raises(Conflict, match="is not committed"):
        replays.start(deps, maria, project, "plain", ReplayAsked("chest@2"))
    create(logged, "quiet", environment="none", log={**LOG, "to": "quiet@main"})
    with pytest.raises(Conflict, match="No requests"):
        replays.start(deps, maria, project, "quiet", ReplayAsked("chest@2"))
    with pytest.raises(Forbidden):
        replays.start(deps, logged.actor("paul", Role.VIEWER), project, "xray", ReplayAsked("chest@2"))
