from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.db import agents, caches, computes, leases, nodes, placements, projects
from millpond.db.engine import Database
from millpond.model.cached_state import CachedState
from millpond.model.compute import Node
from millpond.model.dataset import DatasetKind
from millpond.model.job import Job, JobState, Placement, PlacementState
from millpond.model.job_spec import Resources
from millpond.model.people import Project
from millpond.services.caches.admission.admit import begin_fill
from millpond.testing.builders_work import AddedAgent, add_agent, add_commit, add_job, add_volume
from millpond.testing.clock import NOON

LATER = NOON + timedelta(minutes=1)


@pytest.fixture
def agent(db: Database) -> AddedAgent:
    with db.write() as tx:
        projects.insert(tx, Project("project1", "default", "", NOON))
    return add_agent(db)


@pytest.fixture
def job(db: Database, agent: AddedAgent) -> Job:
    return add_job(db, state=JobState.PLACED, cpu=2, memory_bytes=10**9, gpu_hundredths=150)


def placed(db: Database, agent: AddedAgent, job: Job, placement_id: str = "p1", **changes: object) -> Placement:
    values: dict[str, object] = {
        "id": placement_id, "job_id": job.id, "compute_id": agent.agent.compute_id,
        "agent_id": agent.agent.id, "node": "local",
        "state": PlacementState.PLACED, "valid_seconds": 600, "gpu_indices": (0, 1), "created_at": NOON,
        "renewed_at": NOON, "ended_at": None,
    }  # fmt: skip
    placement = Placement(**values | changes)  # type: ignore[arg-type]
    with db.write() as tx:
        placements.insert(tx, placement)
    return placement


def test_a_placement_comes_back_as_it_was_put_in(db: Database, agent: AddedAgent, job: Job) -> None:
    placement = placed(db, agent, job)
    with db.write() as tx:
        assert placements.get(tx, "p1") == placements.lock(tx, "p1") == placement
        assert placements.get(tx, "p2") is None


def test_what_has_ended_holds_nothing(db: Database, agent: AddedAgent, job: Job) -> None:
    placed(db, agent, job)
    with db.read() as tx:
        assert [row.resources for row in placements.held(tx)] == [Resources(2, 10**9, 150)]
    with db.write() as tx:
        placements.end(tx, ["p1"], LATER)
    with db.read() as tx:
        assert placements.held(tx) == []
        assert placements.living(tx) == placements.living_of_agent(tx, agent.agent.id) == []
        assert placements.living_of_compute(tx, agent.agent.compute_id) == []
        assert placements.renewals(tx) == []


def test_renewal_is_for_the_living(db: Database, agent: AddedAgent, job: Job) -> None:
    placed(db, agent, job)
    placed(db, agent, job, "p0", ended_at=NOON)
    with db.write() as tx:
        placements.renew(tx, agent.agent.id, (), LATER)
    with db.read() as tx:
        renewed = {p.id: p.renewed_at for p in [placements.get(tx, "p0"), placements.get(tx, "p1")] if p}
        assert [(one.id, one.job_id, one.renewed_at) for one in placements.renewals(tx)] == [("p1", job.id, LATER)]
    assert renewed == {"p0": NOON, "p1": LATER}


def test_the_newest_placement_of_a_job(db: Database, agent: AddedAgent, job: Job) -> None:
    placed(db, agent, job, "p2", ended_at=NOON)
    newest = placed(db, agent, job, "p1", created_at=LATER)
    with db.read() as tx:
        assert placements.newest_of_job(tx, job.id) == newest


def test_what_a_job_holds_on_volumes(db: Database, agent: AddedAgent, job: Job) -> None:
    volume, commit = add_volume(db), add_commit(db)
    with db.write() as tx:
        size = caches.size_of(tx, commit)
        assert size is not None
        begun = begin_fill(tx, volume, size, requested_by="maria", now=NOON)
        leases.hold_for_job(tx, begun.cached.cached.id, job.id, NOON)
    with db.read() as tx:
        found = placements.leased(tx, [job.id])[job.id][commit]
    assert (found.volume_id, found.dataset, found.state) == (volume.id, "xray", CachedState.FILLING)


def test_which_dataset_a_commit_is_of(db: Database, agent: AddedAgent) -> None:
    code = add_commit(db, ".code", kind=DatasetKind.CODE)
    with db.read() as tx:
        assert placements.commit_is_in(tx, code, project_id="project1", dataset_name=".code")
        assert not placements.commit_is_in(tx, code, project_id="project1", dataset_name=".outputs")
        assert not placements.commit_is_in(tx, code, project_id="project2", dataset_name=".code")


def test_nodes_come_and_leave_with_what_their_agent_tells(db: Database, agent: AddedAgent) -> None:
    one = agent.agent
    two = [Node(one.compute_id, name, 2, 10**9, 1, "T4", labels={"zone": "a"}) for name in ("a", "b")]
    known = [replace(node, agent_id=one.id, seen_at=NOON) for node in two]
    with db.write() as tx:
        assert nodes.report(tx, one.id, one.compute_id, two, NOON)
        assert not nodes.report(tx, one.id, one.compute_id, two, LATER)
        assert nodes.present(tx, [one.compute_id]) == known
        assert nodes.present(tx, []) == []
        assert nodes.report(tx, one.id, one.compute_id, [replace(two[0], gpus=2)], LATER)
        assert nodes.present(tx) == [replace(known[0], gpus=2)]
        left = {node.name: node.left_at for node in nodes.all_of(tx, [one.compute_id])}
        assert left == {"a": None, "b": LATER, "local": NOON}
        assert nodes.report(tx, one.id, one.compute_id, two, LATER)
        assert nodes.present(tx) == known


def test_a_new_agent_speaks_for_the_compute_and_its_nodes(db: Database, agent: AddedAgent, job: Job) -> None:
    placed(db, agent, job)
    before = agent.agent
    after = replace(before, id="second", created_at=LATER, seen_at=LATER)
    with db.write() as tx:
        computes.give_to(tx, after)
        assert nodes.present(tx) == []
        nodes.report(tx, after.id, after.compute_id, [Node(after.compute_id, "local", 4, 10**9)], LATER)
    with db.read() as tx:
        compute, old = computes.find(tx, "local"), agents.get(tx, before.id)
        assert compute is not None and compute.agent == after
        assert old is not None and old.revoked_at == LATER
        assert [node.agent_id for node in nodes.present(tx)] == [after.id]
        # What the first was told to run is not the second's, and its room stays taken until it is over.
        assert placements.living_of_agent(tx, after.id) == []
        assert [row.node for row in placements.held(tx)] == ["local"]


def test_only_the_process_that_spoke_last_is_still_there(db: Database, agent: AddedAgent) -> None:
    with db.write() as tx:
        agents.seen(tx, agent.agent.id, version="2", instance="new", peer=None, now=LATER)
        assert agents.still_there(tx, agent.agent.id, instance="new", now=LATER)
        assert not agents.still_there(tx, agent.agent.id, instance="old", now=LATER)
    with db.read() as tx:
        compute = computes.find(tx, "local")
    assert compute is not None and compute.agent is not None
    found = compute.agent
    assert (found.version, found.seen_at, found.site) == ("2", LATER, "local")
