"""Quotas at work: who is preempted for whom, who is nominated meanwhile, and what becomes of both."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millpond.db import job_events, scheduling
from millpond.db import projects as project_rows
from millpond.errors import DoesNotFit
from millpond.model.job import Ending, Job, JobState
from millpond.model.people import SYSTEM, Project
from millpond.services.computes import agents
from millpond.services.jobs import jobs, shares, submit, why
from millpond.services.people import projects
from millpond.testing.builders_work import AddedAgent, add_agent, observed
from millpond.wire.jobs import JobCreate
from millpond.wire.observed import Capabilities, NodeFacts, PlacementSeen
from tests.unit.services.world import World

OPEN = Capabilities(exec=True, shared_trust=False)


def facts(name: str, labels: dict[str, str] | None = None) -> NodeFacts:
    return NodeFacts(name=name, cpus=4, memory_bytes=16 * 10**9, gpus=4, labels=labels or {})


class Teams:
    """A node of four GPUs, team-a and team-b with a quota of two each."""

    def __init__(self, world: World, **settings: Any) -> None:
        self.world = world
        self.agent = self.node("gpu")
        self.a = self.team("team-a", quota=200)
        self.b = self.team("team-b", quota=200, **settings)

    def node(self, name: str, **labels: str) -> AddedAgent:
        """A node of four GPUs that interactive jobs may run on."""
        added = add_agent(self.world.deps.db, name, gpus=4, labels=labels)
        agents.observe(self.world.deps, added.actor, observed(facts(name, labels), capabilities=OPEN))
        return added

    def team(self, name: str, **settings: Any) -> Project:
        return projects.create(self.world.deps, SYSTEM, name=name, settings=settings)

    def submit(self, project: Project, name: str, gpus: int = 200, **wanted: Any) -> Job:
        self.world.clock.advance(0.001)
        with self.world.deps.db.read() as tx:
            project = project_rows.get(tx, project.id) or project
        request = JobCreate(name=name, command=["train"], gpu_hundredths=gpus, **wanted)
        return submit.submit(self.world.deps, SYSTEM, project, request)

    def report(self, job: Job, state: str, **told: Any) -> None:
        """The agent tells how a job goes."""
        current = self.world.job(job.id)
        seen = PlacementSeen(id=current.status.placement_id or "", state=state, **told)
        told_by = observed(facts("gpu"), capabilities=OPEN, placements=[seen])
        agents.observe(self.world.deps, self.agent.actor, told_by)

    def run(self, *jobs: Job) -> None:
        self.world.schedule()
        for job in jobs:
            self.report(job, "running", started_at=self.world.clock.now())

    def states(self, *jobs: Job) -> list[str]:
        return [self.world.job(job.id).status.state.value for job in jobs]

    def nominated(self) -> list[str]:
        with self.world.deps.db.read() as tx:
            return [one.job_id for one in scheduling.nominations(tx)]


@pytest.fixture
def teams(world: World) -> Teams:
    return Teams(world)


def test_a_claim_takes_over_quota_gpus_back_when_their_job_has_ended(teams: Teams) -> None:
    first, over = teams.submit(teams.b, "first"), teams.submit(teams.b, "over")
    teams.run(first, over)
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    assert teams.states(first, over, claim) == ["running", "preempted", "queued"]
    assert teams.nominated() == [claim.id]
    assert teams.world.job(claim.id).status.rule == "nominated"
    teams.world.schedule()
    assert teams.states(first, over, claim) == ["running", "preempted", "queued"], "planning again changes nothing"
    teams.report(over, "finished", exit_code=143, reason="stopped", started_at=teams.world.clock.now())
    teams.world.schedule()
    assert teams.states(first, over, claim) == ["running", "queued", "placed"]
    assert teams.nominated() == []
    after = teams.world.job(over.id)
    assert (after.status.preemptions, after.queued_at, after.status.ending) == (1, over.queued_at, Ending.PREEMPTED)
    assert after.status.losses == after.status.retried == 0


def test_every_change_of_state_is_an_event(teams: Teams) -> None:
    over = [teams.submit(teams.b, f"b{n}") for n in (1, 2)][1]
    teams.world.schedule()
    teams.report(over, "running", started_at=teams.world.clock.now())
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    teams.report(over, "finished", exit_code=143, reason="stopped")
    with teams.world.deps.db.read() as tx:
        changes = job_events.of_job(tx, over.id)
    told = [(one.before and one.before.value, one.after.value, one.rule, one.by, one.node) for one in changes]
    assert told == [
        (None, "queued", None, "millpond", None),
        ("queued", "placed", "free", None, "gpu"),
        ("placed", "running", "free", None, "gpu"),
        ("running", "preempted", "claim", claim.id, "gpu"),
        ("preempted", "queued", None, None, "gpu"),
    ]
    shown = why.events(teams.world.deps, SYSTEM, teams.b, over.id)
    assert (shown[3].by, shown[3].why) == ("team-a/claim", "for team-a/claim: its project's quota covers it")
    hidden = why.events(teams.world.deps, teams.world.maria, teams.b, over.id)
    assert hidden[3].by == "another project"


def test_a_job_within_quota_is_never_preempted_for_another_project(teams: Teams) -> None:
    own = teams.submit(teams.b, "own")
    teams.run(own)
    third = teams.team("team-c", quota=100)
    first, second = teams.submit(teams.a, "a1"), teams.submit(third, "c1", 100)
    teams.world.schedule()
    assert teams.states(own, first, second) == ["running", "placed", "queued"]
    assert teams.world.job(second.id).status.rule == "order"


def test_a_user_stops_a_job_that_is_being_preempted(teams: Teams) -> None:
    over = [teams.submit(teams.b, f"b{n}") for n in (1, 2)][1]
    teams.run(over)
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    jobs.stop(teams.world.deps, SYSTEM, teams.b, over.id)
    teams.report(over, "finished", exit_code=143, reason="stopped")
    teams.world.schedule()
    assert teams.states(over, claim) == ["cancelled", "placed"]


def test_a_job_that_ended_well_before_it_was_told_to_stop_has_succeeded(teams: Teams) -> None:
    over = [teams.submit(teams.b, f"b{n}") for n in (1, 2)][1]
    teams.run(over)
    teams.submit(teams.a, "claim")
    teams.world.schedule()
    teams.report(over, "finished", exit_code=0)
    assert teams.states(over) == ["succeeded"]


def test_a_nominated_job_that_is_deleted_gives_its_room_back(teams: Teams) -> None:
    over = [teams.submit(teams.b, f"b{n}") for n in (1, 2)][1]
    teams.run(over)
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    jobs.delete(teams.world.deps, SYSTEM, teams.a, claim.id)
    teams.world.schedule()
    assert teams.nominated() == []
    teams.report(over, "finished", exit_code=143, reason="stopped")
    teams.world.clock.advance(3)  # it was preempted once within an hour
    teams.world.schedule()
    assert teams.states(over) == ["placed"]


def test_a_preempted_job_waits_before_it_goes_over_quota_again(teams: Teams) -> None:
    first, over = teams.submit(teams.b, "b1"), teams.submit(teams.b, "b2")
    teams.run(first, over)
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    teams.report(over, "finished", exit_code=143, reason="stopped")
    teams.world.schedule()
    teams.report(claim, "finished", exit_code=0, started_at=teams.world.clock.now())
    teams.world.schedule()
    assert (teams.states(over), teams.world.job(over.id).status.rule) == (["queued"], "backoff")
    teams.world.clock.advance(2.1)
    teams.world.schedule()
    assert teams.states(over) == ["placed"]


def test_a_nomination_ends_with_its_node(teams: Teams) -> None:
    over = [teams.submit(teams.b, f"b{n}") for n in (1, 2)][1]
    teams.run(over)
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    teams.world.clock.advance(60)  # nothing is heard of the agent
    teams.world.schedule()
    assert teams.nominated() == []
    assert teams.states(claim) == ["queued"]


def test_rebalance_gives_a_project_below_its_share_its_part(world: World) -> None:
    teams = Teams(world)
    for project in (teams.a, teams.b):
        projects.change(world.deps, SYSTEM, project, description=None, settings={"quota": 0})
    third = teams.team("team-c", quota=100)
    running = [teams.submit(teams.b, f"b{n}", 100) for n in range(4)]
    teams.run(*running)
    late = teams.submit(teams.a, "late", 100)
    world.schedule()
    assert sorted(teams.states(*running)) == ["preempted", "running", "running", "running"]
    assert teams.nominated() == [late.id]
    assert third.shares.quota == 100


def test_interactive_jobs_stay_within_quota(teams: Teams) -> None:
    with pytest.raises(DoesNotFit) as refused:
        teams.submit(teams.a, "large", 300, interactive=True)
    assert "--preemptible" in (refused.value.hint or "")
    allowed = teams.submit(teams.a, "large", 300, kind="interactive", preemptible=True)
    first, second = (teams.submit(teams.b, name, 100, interactive=True) for name in ("n1", "n2"))
    third = teams.submit(teams.b, "n3", 100, interactive=True)
    teams.world.schedule()
    assert teams.states(first, second, third) == ["placed", "placed", "queued"]
    assert teams.world.job(third.id).status.rule == "nonpreemptible-quota"
    assert teams.states(allowed) == ["queued"]


def test_interactive_jobs_get_the_limits_of_their_project(teams: Teams) -> None:
    limits = {"interactive_time": 3600, "interactive_idle": 600}
    projects.change(teams.world.deps, SYSTEM, teams.a, description=None, settings=limits)
    short = teams.submit(teams.a, "short", 100, interactive=True, timeout_seconds=60)
    long = teams.submit(teams.a, "long", 100, interactive=True, timeout_seconds=7200)
    training = teams.submit(teams.a, "training", 100)
    assert [(job.spec.timeout_seconds, job.spec.idle_seconds) for job in (short, long, training)] == [
        (60, 600), (3600, 600), (0, 0),
    ]  # fmt: skip


def test_a_limit_and_a_switch_keep_a_project_from_idle_gpus(teams: Teams) -> None:
    projects.change(teams.world.deps, SYSTEM, teams.a, description=None, settings={"limit": 100})
    projects.change(teams.world.deps, SYSTEM, teams.b, description=None, settings={"over_quota": False})
    found = [teams.submit(project, name, 100) for project, name in ((teams.a, "a1"), (teams.a, "a2"))]
    found += [teams.submit(teams.b, f"b{n}", 100) for n in range(3)]
    teams.world.schedule()
    assert teams.states(*found) == ["placed", "queued", "placed", "placed", "queued"]
    assert {teams.world.job(found[n].id).status.rule for n in (1, 4)} == {"limit"}


def test_affinity_keeps_jobs_on_nodes_with_the_label(teams: Teams) -> None:
    teams.node("big", gpu="a100")
    settings = {"train_affinity": {"gpu": "a100"}, "interactive_affinity": {"gpu": "none"}}
    projects.change(teams.world.deps, SYSTEM, teams.a, description=None, settings=settings)
    training, notebook = teams.submit(teams.a, "t", 100), teams.submit(teams.a, "n", 100, interactive=True)
    teams.world.schedule()
    assert teams.world.job(training.id).status.compute == "big"
    assert teams.world.job(notebook.id).status.rule == "affinity"
    answer = why.why(teams.world.deps, SYSTEM, teams.a, notebook.id)
    assert any("does not have the label gpu=none" in reason for reason in answer.reasons)


def test_why_names_who_holds_what_a_job_needs(teams: Teams) -> None:
    held = teams.submit(teams.b, "held", timeout_seconds=600)
    other = teams.submit(teams.a, "other")
    teams.run(held, other)
    waiting = teams.submit(teams.b, "more")
    teams.world.schedule()
    answer = why.why(teams.world.deps, SYSTEM, teams.b, waiting.id)
    assert (answer.state, answer.rule) == (JobState.QUEUED, "order")
    assert {one.job for one in answer.blockers} == {"team-b/held", "team-a/other"}
    assert answer.earliest_start == teams.world.job(held.id).status.started_at + timedelta(seconds=600)
    masked = why.why(teams.world.deps, teams.world.maria, teams.b, waiting.id)
    assert {one.job for one in masked.blockers} == {None}


def test_shares_are_those_of_the_plan(teams: Teams) -> None:
    over = [teams.submit(teams.b, f"b{n}") for n in (1, 2)]
    teams.run(*over)
    teams.submit(teams.a, "claim")
    with teams.world.deps.db.read() as tx:
        found = shares.of_pools(teams.world.deps, tx, teams.world.clock.now())
    told = {one.project.name: (one.quota, one.share, one.allocated, one.over_quota, one.pending_gpus) for one in found}
    assert told["team-a"] == (200, 200, 0, 0, 200)
    assert told["team-b"] == (200, 200, 400, 200, 0)


def test_samples_of_shares_are_kept_by_the_minute_and_later_by_the_hour(teams: Teams) -> None:
    world = teams.world
    for _ in range(3):
        shares.sample(world.deps, world.clock.now())
        shares.sample(world.deps, world.clock.now())
        world.clock.advance(60)
    now = world.clock.now()
    step, found = shares.history(world.deps, SYSTEM, since=now - timedelta(hours=1), until=now)
    assert step == 60 and len({one.at for one in found}) == 3
    world.clock.advance(2 * 86_400)
    shares.sample(world.deps, world.clock.now())
    step, found = shares.history(world.deps, SYSTEM, since=now - timedelta(hours=1), until=world.clock.now())
    assert step == 3600 and {one.at.minute for one in found} == {0}
