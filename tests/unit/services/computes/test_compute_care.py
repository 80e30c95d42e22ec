"""Cordon, drain, revoke, detach: what is placed, what is refused, and what jobs are told."""

from __future__ import annotations

import hashlib

import pytest

from millpond.errors import Conflict, CredentialRevoked, InUse, NotFound, NotReady
from millpond.model.agent import Agent
from millpond.model.job import JobState
from millpond.model.people import SYSTEM
from millpond.services.computes import agents, compute_care, compute_tests, computes, joining, trust
from millpond.services.computes.computes import Health
from millpond.services.jobs import placements
from millpond.services.people import tokens
from millpond.services.places import sites
from millpond.testing.builders_work import add_agent, observed
from millpond.wire.computes import Check, Join
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World


def test_nothing_new_is_placed_on_a_cordoned_compute_and_why_says_so(world: World) -> None:
    running, _ = world.placed("running")
    compute_care.cordon(world.deps, SYSTEM, "local")
    waiting = world.submit("waiting")
    world.schedule()
    assert world.why(waiting.id)[-1] == "Waiting: local accepts no new jobs: cordoned by millpond."
    assert world.job(running.id).status.state is JobState.PLACED
    assert computes.get(world.deps, "local").health is Health.DRAINING
    compute_care.uncordon(world.deps, SYSTEM, "local")
    world.schedule()
    assert world.job(waiting.id).status.state is JobState.PLACED


def test_draining_lets_jobs_finish_or_stops_them(world: World) -> None:
    running, _ = world.placed("running")
    assert compute_care.drain(world.deps, SYSTEM, "local", stop=False).running == 1
    assert world.job(running.id).status.stop_requested_at is None
    compute_care.drain(world.deps, SYSTEM, "local", stop=True)
    assert world.job(running.id).status.stop_requested_at is not None
    assert world.sync().placements[0].want == "stop"


def test_a_job_on_a_node_that_has_left_still_runs_there(world: World) -> None:
    """A cluster takes a node out of its list before the jobs there have ended."""
    running, placement = world.placed("running")
    world.sync(PlacementSeen(id=placement.id, state="running", started_at=world.clock.now()), nodes=[])
    view = compute_care.drain(world.deps, SYSTEM, "local", stop=False)
    assert (view.running, view.health) == (1, Health.DRAINING)
    assert [(use.node.name, use.running, use.node.left_at) for use in view.nodes] == [("local", 1, world.clock.now())]
    assert world.submit("another").status.state is JobState.QUEUED
    now = world.clock.now()
    world.sync(PlacementSeen(id=placement.id, state="finished", started_at=now, exited_at=now, exit_code=0), nodes=[])
    view = computes.get(world.deps, "local")
    assert (view.running, view.health, view.nodes) == (0, Health.CORDONED, [])
    assert world.job(running.id).status.node == "local", "what ran there still says so"


def test_a_new_agent_takes_over_the_compute_and_not_what_its_predecessor_runs(world: World) -> None:
    running, _ = world.placed("running", cpu=4)
    before = computes.get(world.deps, "local").compute
    trust.let_in(world.deps, SYSTEM, "local", ["default"], everyone=False)
    with pytest.raises(Conflict, match="Another agent is connected for compute 'local'"):
        rejoin(world, "too soon")
    compute_care.revoke(world.deps, SYSTEM, "local")
    agent = rejoin(world, "second")
    view = computes.get(world.deps, "local")
    assert (view.compute.id, view.compute.created_at, view.health) == (before.id, before.created_at, Health.NEW)
    assert view.trust.projects == {world.project.id}
    actor = tokens.actor_of(world.deps, "second")
    agents.observe(world.deps, actor, observed(instance="second"))
    assert agents.desired(world.deps, agent, observed(instance="second")).placements == []
    # Its room stays taken until the first attempt has certainly ended; then the new agent gets it.
    waiting = world.submit("waiting", cpu=1)
    world.schedule()
    assert world.job(waiting.id).status.state is JobState.QUEUED
    world.clock.advance(placements.runs_out_after(600, 30) + 1)
    agents.observe(world.deps, actor, observed(instance="second"))
    world.schedule()
    assert world.job(running.id).status.state is JobState.PLACED
    told = agents.desired(world.deps, agent, observed(instance="second")).placements
    assert [one.job_id for one in told] == [running.id]


def rejoin(world: World, secret: str) -> Agent:
    _, token = joining.create_for(world.deps, SYSTEM, compute="local", seconds=60)
    hash = hashlib.sha256(secret.encode()).hexdigest()
    return joining.join(world.deps, Join(token=token, credential_sha256=hash, version="1", name="any"))


def test_detaching_is_refused_while_jobs_run_and_forgets_the_compute(world: World) -> None:
    running, _ = world.placed("running")
    with pytest.raises(InUse, match="Compute 'local' runs 1 job: default/running"):
        compute_care.detach(world.deps, SYSTEM, "local", force=False)
    compute_care.detach(world.deps, SYSTEM, "local", force=True)
    with pytest.raises(NotFound):
        computes.get(world.deps, "local")
    with pytest.raises(CredentialRevoked, match="Credential of agent revoked at"):
        tokens.actor_of(world.deps, world.agent.token)
    # The job is placed anew only once its keeper has certainly ended it; its name may be given again.
    assert world.job(running.id).status.state is JobState.PLACED
    world.clock.advance(placements.runs_out_after(600, 30) + 1)
    world.schedule()
    assert world.job(running.id).status.state is JobState.QUEUED
    add_agent(world.deps.db, "local", now=world.clock.now())
    world.schedule()
    assert world.job(running.id).status.state is JobState.PLACED


def test_nothing_is_placed_where_the_credential_was_revoked_and_jobs_there_are_told(world: World) -> None:
    """Its agent was heard of a moment ago, and will never be again."""
    running, _ = world.placed("running")
    compute_care.revoke(world.deps, SYSTEM, "local")
    waiting = world.submit("waiting")
    world.schedule()
    assert world.why(waiting.id)[-1] == (
        "Waiting: The credential of local was revoked. Re-attach it: mill compute token --compute local"
    )
    assert world.job(running.id).status.reasons[-1] == (
        "The credential of local was revoked by millpond, so the job's state is unknown. It ends within 12 m 30 s "
        "and is then placed again."
    )
    compute_care.revoke(world.deps, SYSTEM, "local")
    assert sum("revoked" in reason for reason in world.job(running.id).status.reasons) == 1


def test_a_site_goes_when_its_computes_are_detached(world: World) -> None:
    add_agent(world.deps.db, "edge", site="edge")
    with pytest.raises(InUse, match="compute edge"):
        sites.remove(world.deps, SYSTEM, "edge")
    compute_care.detach(world.deps, SYSTEM, "edge", force=False)
    sites.remove(world.deps, SYSTEM, "edge")


def test_a_test_is_told_to_the_agent_until_it_answers(world: World) -> None:
    _, test = compute_tests.start(world.deps, SYSTEM, "local")
    assert world.sync().trials == [test.id]
    check = Check(name="server", state="ok", message="Responds in 1 ms.", value=1, unit="ms")
    compute_tests.finish(world.deps, world.agent.actor, test.id, [check])
    assert world.sync().trials == []
    assert compute_tests.get(world.deps, "local", test.id)[1].checks == [check.model_dump()]
    other = add_agent(world.deps.db, "other")
    with pytest.raises(NotFound):
        compute_tests.finish(world.deps, other.actor, test.id, [])
    world.clock.advance(3600)
    with pytest.raises(NotReady, match="not connected; it was last seen"):
        compute_tests.start(world.deps, SYSTEM, "local")
    world.clock.advance(1)
    assert compute_tests.forget_old(world.deps, world.clock.now()) == 1
