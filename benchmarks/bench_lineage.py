"""The graph of lineage at 100,000 edges: how long a server takes for a screenful, on SQLite and PostgreSQL.

A dataset commit that thousands of jobs have read, whose results the next jobs have read, and so on: one node has very
many neighbours, others are deep. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import httpx
from sqlalchemy import Connection, func, select

from millpond.db import commits, jobs, projects, runs
from millpond.db.engine import Database
from millpond.db.tables import lineage_edge
from millpond.model.dataset import Commit, DatasetKind
from millpond.model.ids import new_job_id
from millpond.model.job_spec import JobInput
from millpond.model.people import Role
from millpond.testing.builders_work import a_job, a_run, add_commit
from millpond.testing.clock import NOON
from millpond.testing.postgres import running_postgres
from millpond.testing.server import running_server

ROUNDS = 15
# A tenth of the jobs read the dataset, and each of the others a result of an earlier one.
STAR = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=100_000)
    asked = parser.parse_args()
    found: dict[str, float] = {}
    for name in ("sqlite", "postgresql"):
        found |= {f"{key}_{name}": value for key, value in measure(name, asked.edges).items()}
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


def measure(database: str, edges: int) -> dict[str, float]:
    postgres = running_postgres() if database == "postgresql" else nullcontext(None)
    with (
        tempfile.TemporaryDirectory() as temporary,
        postgres as running,
        running.database() if running else nullcontext(None) as url,
        running_server(Path(temporary), database_url=url) as server,
    ):
        data, last = fill(server.deps.db, edges)
        maria = server.user("maria", roles={"default": Role.VIEWER})
        admin = server.client(server.token_of("admin"))
        questions: dict[str, dict[str, object]] = {
            "star_ms": {"commit": f"xray@{data}", "direction": "down"},
            "deep_ms": {"run": last, "direction": "up", "depth": 20},
            "around_ms": {"run": last},
            "wide_ms": {"commit": f"xray@{data}", "depth": 1, "width": 200},
        }
        times = {key: max(answer(who, one) for who in (maria, admin)) for key, one in questions.items()}
        return {"edges": count(server.deps.db), **times}


def fill(db: Database, edges: int) -> tuple[str, str]:
    """Jobs with results, as rows; the dataset's commit, and the run of the last job."""
    data = add_commit(db, "xray")
    result = add_commit(db, ".outputs", kind=DatasetKind.OUTPUT)
    with db.write() as tx:
        place, owner = commits.get(tx, result), projects.find(tx, "default")
        assert place is not None and owner is not None
        # A job has an edge for its input, and its result one more.
        return data, list(_jobs(tx, owner.id, data, place, edges // 2))[-1]


def _jobs(tx: Connection, project_id: str, data: str, place: Commit, number: int) -> Iterator[str]:
    made = [data]
    for index in range(number):
        source = data if index % STAR == 0 else made[-1 - index % 7 if index > 7 else -1]
        job = a_job(
            id=new_job_id(), run_id=new_job_id(), name=f"train-{index}", project_id=project_id,
            inputs=(JobInput("default/xray", "main", source, "d", "X"),),
        )  # fmt: skip
        runs.insert(tx, a_run(id=job.run_id, job_id=job.id, project_id=job.project_id, name=job.name))
        jobs.insert(tx, job)
        commit_id = hashlib.sha256(f"result {index}".encode()).hexdigest()
        told = {"job": job.id, "inputs": [f"default/xray@{source}"]}
        commits.insert(tx, Commit(commit_id, place.dataset_id, place.tree, (), "maria", NOON, "", 1, 1, told))
        made = [*made[-20:], commit_id]
        yield job.run_id


def answer(client: httpx.Client, asked: dict[str, object]) -> float:
    """Milliseconds of an answer, the median of some, after a first one."""
    times = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        found = client.get("/projects/default/lineage", params=asked)  # type: ignore[arg-type]
        times.append((time.perf_counter() - begin) * 1000)
        assert found.status_code == 200, found.text
    return round(median(times[1:]), 1)


def count(db: Database) -> int:
    with db.read() as tx:
        return tx.scalar(select(func.count()).select_from(lineage_edge)) or 0


if __name__ == "__main__":
    sys.exit(main())
