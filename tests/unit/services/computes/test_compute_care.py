"""Cordon, drain, revoke, detach: what is placed, what is refused, and what jobs are told."""

from __future__ import annotations

import pytest

from millpond.errors import CredentialRevoked, InUse, NotFound, NotReady
from millpond.model.job import JobState
from millpond.model.people import SYSTEM
from millpond.services.computes import compute_care, compute_tests, computes
from millpond.services.computes.computes import Health
from millpond.services.jobs import placements
from millpond.services.people import tokens
from millpond.services.places import sites
from millpond.testing.builders_work import add_agent
from millpond.wire.computes import Check
from tests.unit.services.world import World


def test_nothing_new_is_placed_on_a_cordoned_compute_and_why_says_so(world: World) -> None:
    running, _ = world.placed("running")
    compute_care.cordon(world.deps, SYSTEM, "local")
    waiting = world.submit("waiting")
    world.schedule()
    assert world.job(waiting.id).reasons[-1] == "Waiting: local takes no new jobs: it was cordoned by millpond."
    assert world.job(running.id).state is JobState.PLACED
    assert computes.get(world.deps, "local").health is Health.DRAINING
    compute_care.uncordon(world.deps, SYSTEM, "local")
    world.schedule()
    assert world.job(waiting.id).state is JobState.PLACED


def test_draining_lets_jobs_finish_or_stops_them(world: World) -> None:
    running, _ = world.placed("running")
    assert compute_care.drain(world.deps, SYSTEM, "local", stop=False).running == 1
    assert world.job(running.id).stop_requested_at is None
    compute_care.drain(world.deps, SYSTEM, "local", stop=True)
    assert world.job(running.id).stop_requested_at is not None
    assert world.sync().placements[0].want == "stop"


def test_detaching_is_refused_while_jobs_run_and_forgets_the_compute(world: World) -> None:
    running, _ = world.placed("running")
    with pytest.raises(InUse, match="Compute 'local' runs 1 job: default/running"):
        compute_care.detach(world.deps, SYSTEM, "local", force=False)
    compute_care.detach(world.deps, SYSTEM, "local", force=True)
    with pytest.raises(NotFound):
        computes.get(world.deps, "local")
    with pytest.raises(CredentialRevoked, match="was revoked at"):
        tokens.actor_of(world.deps, world.agent.token)
    # The job is placed anew only once its keeper has certainly ended it; its name may be given again.
    assert world.job(running.id).state is JobState.PLACED
    world.clock.advance(placements.runs_out_after(600) + 1)
    world.schedule()
    assert world.job(running.id).state is JobState.QUEUED
    add_agent(world.deps.db, "local", now=world.clock.now())
    world.schedule()
    assert world.job(running.id).state is JobState.PLACED


def test_nothing_is_placed_where_the_credential_was_revoked_and_jobs_there_are_told(world: World) -> None:
    """Its agent was heard of a moment ago, and will never be again."""
    running, _ = world.placed("running")
    compute_care.revoke(world.deps, SYSTEM, "local")
    waiting = world.submit("waiting")
    world.schedule()
    assert world.job(waiting.id).reasons[-1] == (
        "Waiting: The credential of local was revoked: an agent has to join anew (mill compute token)."
    )
    assert world.job(running.id).reasons[-1] == (
        "The credential of local was revoked by millpond: nothing more is heard of the job. It ends there when its "
        "time is up; within 12 m 10 s that is certain, and it is placed anew."
    )
    compute_care.revoke(world.deps, SYSTEM, "local")
    assert sum("revoked" in reason for reason in world.job(running.id).reasons) == 1


def test_a_site_goes_when_its_computes_are_detached(world: World) -> None:
    add_agent(world.deps.db, "edge", site="edge")
    with pytest.raises(InUse, match="compute edge"):
        sites.remove(world.deps, SYSTEM, "edge")
    compute_care.detach(world.deps, SYSTEM, "edge", force=False)
    sites.remove(world.deps, SYSTEM, "edge")


def test_a_test_is_told_to_the_agent_until_it_answers(world: World) -> None:
    _, test = compute_tests.start(world.deps, SYSTEM, "local")
    assert world.sync().trials == [test.id]
    check = Check(name="server", state="ok", message="Answers in 1 ms.", value=1, unit="ms")
    compute_tests.finish(world.deps, world.agent.actor, test.id, [check])
    assert world.sync().trials == []
    assert compute_tests.get(world.deps, "local", test.id)[1].checks == [check.model_dump()]
    other = add_agent(world.deps.db, "other")
    with pytest.raises(NotFound):
        compute_tests.finish(world.deps, other.actor, test.id, [])
    world.clock.advance(3600)
    with pytest.raises(NotReady, match="not connected: it was last seen"):
        compute_tests.start(world.deps, SYSTEM, "local")
    world.clock.advance(1)
    assert compute_tests.forget_old(world.deps, world.clock.now()) == 1
