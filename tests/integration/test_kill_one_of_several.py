"""kill -9 of servers behind HAProxy under load: no job is lost or done twice, and clients see a retry at most."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from millpond.client import jobs
from millpond.db.engine import Database
from millpond.model.job_spec import JobSpec
from millpond.testing.builders_work import add_agent
from millpond.testing.postgres import Postgres
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.simulated_agents import Counted, run_agents
from millpond.testing.waiting import wait_until
from millpond.wire.jobs import JobCreate
from tests.integration.several_servers import Installation, installation

PROJECT = "default"


@contextmanager
def agents(made: Installation, count: int) -> Iterator[Counted]:
    """That many simulated agents, which come through the balancer."""
    with closing(Database(made.database_url)) as db:
        tokens = [add_agent(db, f"compute-{number}", cpus=4).token for number in range(count)]
    counted, loop = Counted(), asyncio.new_event_loop()
    running = loop.create_task(run_agents(made.url, tokens, counted))
    thread = threading.Thread(target=loop.run_until_complete, args=(running,))
    thread.start()
    try:
        yield counted
    finally:
        loop.call_soon_threadsafe(running.cancel)
        thread.join(60)
        loop.close()


def submit_all(made: Installation, names: list[str], submitted: list[str]) -> None:
    """One client after the other, as people do; each waits for its answer."""
    with made.api() as api:
        for name in names:
            asked = JobCreate(name=name, spec=JobSpec(command=["true"], cpu=1))
            submitted.append(jobs.submit_job(api, PROJECT, asked).name)


def storm(made: Installation, *, agent_count: int, job_count: int, kills: int, again: bool = True) -> None:
    names = [f"job-{number}" for number in range(job_count)]
    submitted: list[str] = []
    with agents(made, agent_count) as counted, ThreadPoolExecutor(4) as pool:
        parts = [pool.submit(submit_all, made, names[begin::4], submitted) for begin in range(4)]
        for number in range(kills):
            # Each kill comes when so much has been done: they spread over the whole run, however fast it is.
            due = job_count * (number + 1) // (kills + 2)
            wait_until(lambda due=due: len(submitted) >= due, within=300, what=f"{due} jobs to be submitted")
            place = number % len(made.ports)
            made.kill(place)
            if again:
                made.start(place)
        for part in parts:
            part.result(300)
        with made.api() as api:
            wait_until(lambda: states(api) == {"succeeded": job_count}, within=90, what="all jobs to succeed")
            logs = {name: jobs_log(api, name) for name in names[:: max(1, job_count // 10)]}
    assert sorted(submitted) == sorted(names)
    assert counted.begun == dict.fromkeys(names, 1), "each was begun once"
    assert counted.ended == dict.fromkeys(names, 1)
    assert logs == {name: f"{name} is done\n" for name in logs}


def states(api: object) -> dict[str, int]:
    found: dict[str, int] = {}
    for job in jobs.list_jobs(api, project=PROJECT):  # type: ignore[arg-type]
        found[job.state.value] = found.get(job.state.value, 0) + 1
    return found


def jobs_log(api: object, name: str) -> str:
    return api.request("GET", f"/projects/{PROJECT}/jobs/{name}/log").content.decode()  # type: ignore[attr-defined]


def test_one_of_two_is_killed(postgres: Postgres, tmp_path: Path) -> None:
    with (
        postgres.database() as url,
        installation(url, (tmp_path / "lake").as_uri(), tmp_path) as made,
    ):
        storm(made, agent_count=3, job_count=24, kills=1, again=False)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_storm_of_kills(
    postgres: Postgres, seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with postgres.database() as url, installation(url, seaweed.url("several-servers"), tmp_path) as made:
        storm(made, agent_count=100, job_count=500, kills=20)
