"""What jobs used, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import usage
from millpond.model.job import UsageSample


def add(tx: Connection, job_id: str, samples: Sequence[UsageSample]) -> None:
    """A sample of the same moment counts once."""
    insert_missing(tx, usage, [asdict(sample) | {"job_id": job_id} for sample in samples])


def of_job(tx: Connection, job_id: str) -> Sequence[UsageSample]:
    columns = [column for column in usage.c if column.name != "job_id"]
    query = select(*columns).where(usage.c.job_id == job_id).order_by(usage.c.at)
    return [UsageSample(**row._mapping) for row in tx.execute(query)]
