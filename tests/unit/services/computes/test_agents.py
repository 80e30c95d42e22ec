from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event

from millpond.db import computes, nodes, placements, runs
from millpond.db.engine import Database
from millpond.errors import BadRequest, Conflict, StalePlacement
from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.job import JobState, PlacementState
from millpond.model.run import RunState
from millpond.services.computes import agents
from millpond.services.jobs import jobs
from millpond.services.people import tokens
from millpond.testing.builders_work import add_agent, add_commit, observed
from millpond.wire.observed import NodeFacts, PlacementSeen
from tests.unit.services.world import World


def test_an_agent_is_told_everything_every_time(world: World) -> None:
    job, desired = world.placed(command=("python", "x.py"), env={"A": "1"}, cpu=1, memory_bytes=10**9)
    assert (desired.job_id, desired.job_name, desired.run_id) == (job.id, "train", job.run_id)
    assert (desired.spec, desired.want) == (job.spec, "run")
    assert desired.valid_seconds == 600
    assert world.sync().placements == [desired]


def test_the_revision_changes_with_what_is_wanted_and_with_nothing_else(world: World) -> None:
    before = world.sync().revision
    world.clock.advance(10)
    assert world.sync().revision == before
    world.placed()
    after = world.sync().revision
    assert after != before
    world.clock.advance(10)
    assert world.sync().revision == after


def test_another_version_of_the_protocol_is_refused_in_words(world: World) -> None:
    with pytest.raises(BadRequest, match="version 99 of the protocol, this server version 1"):
        world.sync(protocol=99)


def test_a_life_as_the_agent_tells_it(world: World) -> None:
    job, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="preparing"))
    assert world.job(job.id).status.state is JobState.PREPARING
    started = world.clock.advance(1)
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=started))
    assert world.job(job.id).status.state is JobState.RUNNING
    exited = world.clock.advance(4)
    world.sync(PlacementSeen(id=desired.id, state="saving", started_at=started, exited_at=exited, exit_code=0))
    world.clock.advance(2)
    answer = world.sync(
        PlacementSeen(id=desired.id, state="finished", started_at=started, exited_at=exited, exit_code=0)
    )
    assert answer.placements == []
    view = jobs.get(world.deps, world.project, job.id)
    assert view.job.status.state is JobState.SUCCEEDED
    assert (view.ledger.run, view.ledger.save, view.ledger.total) == (4.0, 2.0, 7.0)
    assert world.run(job.run_id).state is RunState.SUCCEEDED
    assert "complete" in [data["what"] for data in world.told(f"log:{job.id}")]


def test_an_older_report_that_comes_late_changes_nothing(world: World) -> None:
    """An agent with news gives its question up and asks again: the server may meet the two in any order."""
    job, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
    world.sync(PlacementSeen(id=desired.id, state="preparing", waiting="for its data"))
    with world.deps.db.read() as tx:
        placement = placements.get(tx, desired.id)
    assert placement is not None and placement.state is PlacementState.RUNNING
    assert world.job(job.id).status.state is JobState.RUNNING
    assert "for its data" not in world.job(job.id).status.reasons


def test_what_is_known_is_not_announced_again(world: World) -> None:
    _, desired = world.placed()
    running = PlacementSeen(id=desired.id, state="running", started_at=world.clock.now())
    world.sync(running)
    told = len(world.told("jobs"))
    world.clock.advance(5)
    world.sync(running)
    assert len(world.told("jobs")) == told


def test_the_end_releases_leases_and_makes_the_token_stale(world: World) -> None:
    commit = add_commit(world.deps.db, "xray")
    job, desired = world.placed(inputs=["xray"])
    assert world.leased() == {commit: CachedState.FILLING}
    world.sync(PlacementSeen(id=desired.id, state="finished", problem="no such command: trian"))
    assert world.leased() == {}
    assert world.job(job.id).status.problem == "no such command: trian"
    assert world.run(job.run_id).state is RunState.FAILED
    with pytest.raises(StalePlacement):
        tokens.actor_of(world.deps, desired.token)


def test_the_image_a_job_ran_in_is_kept_with_its_run(world: World) -> None:
    job, desired = world.placed()
    digest = f"sha256:{'a' * 64}"
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now(), image_digest=digest))
    with world.deps.db.read() as tx:
        assert runs.record(tx, job.run_id).origin["image_digest"] == digest


def test_outputs_must_be_in_the_lake(world: World) -> None:
    output = add_commit(world.deps.db, ".outputs", kind=DatasetKind.OUTPUT)
    elsewhere = add_commit(world.deps.db, "xray")
    for commit, state in ((output, JobState.SUCCEEDED), (elsewhere, JobState.FAILED), ("0" * 64, JobState.FAILED)):
        job, desired = world.placed()
        now = world.clock.now()
        world.sync(
            PlacementSeen(
                id=desired.id, state="finished", started_at=now, exited_at=now, exit_code=0, output_commit=commit
            )
        )
        assert world.job(job.id).status.state is state
        assert world.job(job.id).status.output_commit == (commit if state is JobState.SUCCEEDED else None)


def test_another_agents_placement_is_not_its_to_report(world: World) -> None:
    job, desired = world.placed()
    other = add_agent(world.deps.db, "other")
    seen = [PlacementSeen(id=desired.id, state="finished", exit_code=0, started_at=world.clock.now())]
    told = observed(placements=seen)
    agent = agents.observe(world.deps, other.actor, told)
    assert world.job(job.id).status.state is JobState.PLACED
    assert agents.desired(world.deps, agent, told).placements == []


def test_absence_from_a_report_means_no_end(world: World) -> None:
    job, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
    world.sync()
    assert world.job(job.id).status.state is JobState.RUNNING


def test_a_stop_is_wanted_until_the_agent_says_it_is_done(world: World) -> None:
    job, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
    stopped = jobs.stop(world.deps, world.maria, world.project, "train")
    assert stopped.job.status.state is JobState.RUNNING
    running = PlacementSeen(id=desired.id, state="running", started_at=world.clock.now())
    assert [placement.want for placement in world.sync(running).placements] == ["stop"]
    now = world.clock.now()
    world.sync(PlacementSeen(id=desired.id, state="finished", started_at=now, exited_at=now, signal=15))
    assert world.job(job.id).status.state is JobState.CANCELLED
    assert world.sync().placements == []


def test_an_agent_tells_its_nodes(world: World) -> None:
    facts = NodeFacts(name="n1", cpus=64, memory_bytes=10**12, gpus=8, gpu_model="H100", labels={"zone": "a"})
    world.sync(nodes=[facts], driver="podman", version="9.9")
    with world.deps.db.read() as tx:
        compute, (node,) = computes.find(tx, "local"), nodes.present(tx)
    assert compute is not None and compute.agent is not None
    assert (compute.driver, compute.agent.version) == ("podman", "9.9")
    assert (node.name, node.gpus, node.gpu_model, node.labels) == ("n1", 8, "H100", {"zone": "a"})


def test_a_second_process_takes_the_place_of_the_first(world: World) -> None:
    world.sync(instance="one")
    agents.still_there(world.deps, world.agent.agent, "one")
    world.sync(instance="two")
    with pytest.raises(Conflict, match="Another process has taken the place of the agent of local"):
        agents.still_there(world.deps, world.agent.agent, "one")


def test_of_two_processes_with_one_credential_one_is_told_what_to_run(world: World) -> None:
    first = observed(instance="first")
    agent = agents.observe(world.deps, world.agent.actor, first)
    revision = agents.desired(world.deps, agent, first).revision
    world.placed()  # told to another process of the agent, which has come since then
    with pytest.raises(Conflict, match="Another process has taken the place of the agent of local"):
        agents.desired(world.deps, agent, first)  # it still waits for its answer
    with pytest.raises(Conflict, match="Another process has taken the place of the agent of local"):
        world.sync(instance="first", seen_revision=revision)


def test_a_process_that_a_restored_database_does_not_know_is_the_agent(world: World) -> None:
    world.sync(instance="before the copy was made")
    world.clock.advance(3600)
    assert world.sync(instance="now", seen_revision="of now").agent_id == world.agent.agent.id


def test_what_an_agent_lost_with_its_disk_is_not_begun_again(world: World) -> None:
    """Its keeper may still be there: only when that has certainly ended, the job is placed anew."""
    job, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
    for _ in range(8):
        assert world.sync(instance="two").placements == []
        assert world.job(job.id).status.placement_id == desired.id
        world.clock.advance(100)
        world.schedule()
    after = world.job(job.id)
    assert (after.status.state, after.status.losses) == (JobState.QUEUED, 1)
    assert any("local no longer knows this job" in reason for reason in after.status.reasons)
    world.sync(instance="two")
    world.schedule()
    assert [one.id for one in world.sync(instance="two").placements] == [world.job(job.id).status.placement_id]


def test_what_an_agent_has_not_begun_is_told_to_the_process_that_comes_after(world: World) -> None:
    _, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="preparing"))
    assert world.sync(instance="two").placements == [desired]


def test_what_is_asked_for_an_agent_does_not_grow_with_all_others(world: World) -> None:
    """Hundreds of agents ask again and again: what each costs must not grow with their number."""
    world.placed()
    world.sync()
    with counting_statements(world.deps.db) as alone:
        world.sync()
    for number in range(12):
        add_agent(world.deps.db, f"other-{number}", site=f"site-{number % 3}")
    with counting_statements(world.deps.db) as among_others:
        world.sync()
    assert len(among_others) == len(alone)
    assert len(alone) < 40


@contextmanager
def counting_statements(db: Database) -> Iterator[list[str]]:
    ran: list[str] = []

    def note(*call: object) -> None:
        ran.append(str(call[2]))

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        yield ran
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
