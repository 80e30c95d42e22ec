"""Two servers on one PostgreSQL plan at the same moment: nothing is started twice and no room is promised twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.db import jobs, placements, projects
from millpond.db.engine import Database
from millpond.model.job import JobState
from millpond.model.people import Actor
from millpond.services.computes import agents
from millpond.services.deps import Deps
from millpond.services.jobs import jobs as job_service
from millpond.services.jobs import schedule, submit
from millpond.settings import Settings
from millpond.testing.builders_data import the_admin
from millpond.testing.builders_work import add_agent, add_commit, add_volume, observed
from millpond.testing.clock import FakeClock
from millpond.testing.postgres import Postgres
from millpond.testing.server import making_deps
from millpond.wire.jobs import JobCreate
from millpond.wire.observed import PlacementSeen

JOBS = 24
CPUS = 4


@pytest.fixture
def servers(postgres: Postgres, tmp_path: Path) -> Iterator[tuple[Deps, Deps]]:
    with postgres.database() as url:
        settings = Settings(data_dir=tmp_path, database_url=url)
        with making_deps(settings, clock=FakeClock()) as first:
            other = Database(url)
            yield first, replace(first, db=other)
            other.close()


def test_two_servers_share_the_work(servers: tuple[Deps, Deps]) -> None:
    first, _ = servers
    agent = add_agent(first.db, cpus=CPUS)
    add_volume(first.db)
    add_commit(first.db, "xray")
    with first.db.read() as tx:
        project = projects.find(tx, "default")
    assert project is not None
    names, somebody = [f"job-{number}" for number in range(JOBS)], the_admin(first)
    for name in names:
        submit.submit(first, somebody, project, JobCreate(name=name, command=["true"], cpu=1, inputs=["xray"]))
    job_service.stop(first, somebody, project, names[-1])

    rounds = 0
    while rounds < JOBS and _waiting(first):
        rounds += 1
        _both(servers)
        _check(first)
        _finish_all(first, agent.actor)
    with first.db.read() as tx:
        states = Counter(jobs.holder(tx, project.id, name) is None for name in names)
        ended = [placements.of_job(tx, job.id) for job in jobs.page(tx, jobs.JobFilter(), limit=100)]
    assert states == {True: JOBS}
    assert sorted(len(found) for found in ended) == [0] + [1] * (JOBS - 1)
    assert rounds == -(-(JOBS - 1) // CPUS)


def _waiting(deps: Deps) -> bool:
    with deps.db.read() as tx:
        return bool(jobs.queued(tx))


def _both(servers: tuple[Deps, Deps]) -> None:
    """Both plan at once."""
    errors: list[BaseException] = []
    together = threading.Barrier(len(servers))

    def plan(deps: Deps) -> None:
        try:
            together.wait(10)
            schedule.run_once(deps, deps.clock.now())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=plan, args=(deps,)) for deps in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []


def _check(deps: Deps) -> None:
    with deps.db.read() as tx:
        held = placements.held(tx)
        living = Counter(placement.job_id for placement in placements.living(tx))
    assert sum(row.resources.cpu for row in held) <= CPUS
    assert set(living.values()) <= {1}


def _finish_all(deps: Deps, actor: Actor) -> None:
    with deps.db.read() as tx:
        living = placements.living(tx)
    now = deps.clock.now()
    seen = [PlacementSeen(id=p.id, state="finished", started_at=now, exited_at=now, exit_code=0) for p in living]
    agents.observe(deps, actor, observed(placements=seen))
    with deps.db.read() as tx:
        states = {job.status.state for job in jobs.by_ids(tx, [p.job_id for p in living]).values()}
    assert states == {JobState.SUCCEEDED}
