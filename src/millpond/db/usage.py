"""What jobs used, sample by sample."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, Integer, cast, func, select

from millpond.db.insert import insert_missing
from millpond.db.tables import usage
from millpond.model.run import UsageSample


@dataclass(frozen=True, slots=True)
class RecentUse:
    """`cpu_percent`: 100 is one CPU."""

    cpu_percent: float
    memory_bytes: int


# Of several samples that become one: the mean of what goes up and down, the greatest of what grows or must fit.
_MEANS = ("cpu_percent", "gpu_percent")


def add(tx: Connection, job_id: str, samples: Sequence[UsageSample]) -> None:
    """A sample of the same moment counts once."""
    insert_missing(tx, usage, [asdict(sample) | {"job_id": job_id} for sample in samples])


def of_job(tx: Connection, job_id: str, *, most: int) -> Sequence[UsageSample]:
    """At most so many points over the whole time: each stands for as many samples, and for its last moment."""
    part = func.ntile(most).over(order_by=usage.c.at).label("part")
    parts = select(usage, part).where(usage.c.job_id == job_id).subquery()
    columns = [
        (func.avg if column.name in _MEANS else func.max)(parts.c[column.name]).label(column.name)
        for column in usage.c
        if column.name not in ("job_id", "network_shared")
    ]
    shared = func.max(cast(parts.c.network_shared, Integer)).label("network_shared")
    query = select(*columns, shared).group_by(parts.c.part).order_by(parts.c.part)
    found = (dict(row._mapping) for row in tx.execute(query))
    return [UsageSample(**{**row, "network_shared": _is(row["network_shared"])}) for row in found]


def gpu_peaks(tx: Connection, job_ids: Collection[str], *, since: datetime) -> Mapping[str, float | None]:
    """The most that each of these jobs used its GPUs since then; None, or nothing, where that was not measured."""
    query = select(usage.c.job_id, func.max(usage.c.gpu_percent).label("peak"))
    query = query.where(usage.c.job_id.in_(job_ids), usage.c.at >= since).group_by(usage.c.job_id)
    return {row.job_id: row.peak for row in tx.execute(query)}


def gpu_means(tx: Connection, job_ids: Collection[str], *, since: datetime) -> Mapping[str, float | None]:
    """The mean use of the GPUs of each of these jobs since then; None, or nothing, where that was not measured."""
    query = select(usage.c.job_id, func.avg(usage.c.gpu_percent).label("mean"))
    query = query.where(usage.c.job_id.in_(job_ids), usage.c.at >= since).group_by(usage.c.job_id)
    return {row.job_id: row.mean for row in tx.execute(query)}


def recent(tx: Connection, job_ids: Collection[str], *, since: datetime) -> Mapping[str, RecentUse]:
    """Mean CPU and greatest memory use of each of these jobs since then; nothing where that was not measured."""
    query = select(
        usage.c.job_id, func.avg(usage.c.cpu_percent).label("cpu"), func.max(usage.c.memory_bytes).label("memory")
    )
    query = query.where(usage.c.job_id.in_(job_ids), usage.c.at >= since).group_by(usage.c.job_id)
    return {row.job_id: RecentUse(float(row.cpu), int(row.memory)) for row in tx.execute(query)}


def _is(number: int | None) -> bool | None:
    return None if number is None else bool(number)
