"""A list of thousands of finished jobs: how long a server takes for what the page and the command line show first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from sqlalchemy import Connection

from benchmarks.millpond_server import running_mill
from millpond.client.http import Api
from millpond.db import jobs, projects, runs
from millpond.db.engine import Database
from millpond.model.ids import new_job_id
from millpond.model.job import JobState
from millpond.testing.builders_work import a_job, a_run
from millpond.testing.postgres import running_postgres

PROJECT = "default"
ROUNDS = 15
# What is asked for: the page of all projects, of one, the finished ones, and a search.
QUESTIONS = ("", f"?project={PROJECT}", "?state=failed", "?text=train-77")


def measure(work: Path, count: int) -> dict[str, float]:
    """The slowest of the questions, by database."""
    found: dict[str, float] = {}
    for name in ("sqlite", "postgresql"):
        place = work / name
        place.mkdir()
        with _database(name) as url, running_mill(place, None, database=url) as mill, mill.api() as api:
            fill(url or f"sqlite:///{place / 'server' / 'millpond.db'}", count)
            found[f"list_{count}_jobs_{name}_s"] = max(_answer(api, question) for question in QUESTIONS)
    return found


def fill(url: str, count: int) -> None:
    """Jobs as rows: nothing of them ever ran."""
    db = Database(url)
    with db.write() as tx:
        owner = projects.find(tx, PROJECT)
        assert owner is not None
        for number in range(count):
            _add(tx, owner.id, number)
    db.close()


def _add(tx: Connection, project_id: str, number: int) -> None:
    ended = datetime.now(UTC) - timedelta(seconds=number)
    place = {"project_id": project_id, "project": PROJECT, "name": f"train-{number}"}
    job = a_job(
        id=new_job_id(), run_id=new_job_id(), queued_at=ended, ended_at=ended, **place,
        state=JobState.FAILED if number % 10 == 0 else JobState.SUCCEEDED,
    )  # fmt: skip
    runs.insert(tx, a_run(id=job.run_id, job_id=job.id, **place))
    jobs.insert(tx, job)


def _answer(api: Api, question: str) -> float:
    """Seconds to the whole answer, by the client; median of several."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        api.request("GET", f"/jobs{question}")
        seconds.append(time.perf_counter() - began)
    return median(seconds)


@contextmanager
def _database(name: str) -> Iterator[str | None]:
    """The URL of a database of its own; None for the server's file."""
    if name == "sqlite":
        yield None
        return
    with running_postgres() as server, server.database() as url:
        yield url
