"""Placements: where each attempt of a job runs or ran, by which agent, and how long its promise holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from millpond.db.tables import cached, commit, dataset, job, lease, placement, token
from millpond.model.cached_state import CachedState
from millpond.model.job import Ending, Placement, PlacementState, Rank, RankPlace, RankState
from millpond.model.job_spec import JobSpec, Resources

_LIVING = placement.c.ended_at.is_(None)
# Made once: with hundreds of short jobs, making these statements takes as long as running them.
_INSERT = placement.insert()
_ALL_LIVING = select(placement).where(_LIVING).order_by(placement.c.created_at, placement.c.id)
_OF_AGENT = _ALL_LIVING.where(placement.c.agent_id == bindparam("agent"))
_OF_COMPUTE = _ALL_LIVING.where(placement.c.compute_id == bindparam("compute"))
_RENEWALS = select(
    placement.c.id, placement.c.job_id, placement.c.valid_seconds, placement.c.renewed_at, placement.c.grace_seconds
).where(_LIVING)  # fmt: skip
_HELD = (
    select(
        placement.c.id, placement.c.compute_id, placement.c.node, placement.c.gpu_indices, placement.c.places,
        placement.c.job_id, job.c.class_key,
    )
    .join(job, job.c.id == placement.c.job_id)
    .where(_LIVING)
    .order_by(placement.c.created_at, placement.c.id)
)  # fmt: skip
_NOT_BEGUN = placement.c.state.not_in([state.value for state in PlacementState if state.has_begun])
_SPECS = select(job.c.class_key, job.c.spec).where(job.c.id.in_(bindparam("jobs", expanding=True)))
_RENEW = placement.update().where(
    placement.c.agent_id == bindparam("agent"),
    _LIVING,
    _NOT_BEGUN | placement.c.id.in_(bindparam("told", expanding=True)),
)
_CHANGE = placement.update().where(placement.c.id == bindparam("changed"))
_ADVANCE = _CHANGE.where(placement.c.state.in_(bindparam("before", expanding=True)))
_FIRST_START = _CHANGE.where(placement.c.started_at.is_(None))
_LEASED = (
    select(
        lease.c.job_id, cached.c.commit_id, cached.c.volume_id, cached.c.project_id, cached.c.state,
        cached.c.dataset_id, dataset.c.name,
    )
    .join(cached, cached.c.id == lease.c.cached_id)
    .join(dataset, dataset.c.id == cached.c.dataset_id)
    .where(lease.c.job_id.in_(bindparam("jobs", expanding=True)))
)  # fmt: skip
_END = placement.update().where(placement.c.id.in_(bindparam("ended", expanding=True)), _LIVING)


@dataclass(frozen=True, slots=True)
class HeldRow:
    """What a placement that has not ended holds, and where."""

    compute_id: str
    node: str
    resources: Resources
    gpu_indices: tuple[int, ...]
    placement_id: str = ""


@dataclass(frozen=True, slots=True)
class Renewal:
    """From when a placement that has not ended is valid, and for how long."""

    id: str
    job_id: str
    valid_seconds: int
    renewed_at: datetime
    grace_seconds: int


@dataclass(frozen=True, slots=True)
class LeasedCommit:
    """A commit a job holds on a volume."""

    commit_id: str
    volume_id: str
    project_id: str
    dataset_id: str
    dataset: str
    state: CachedState


def insert(tx: Connection, value: Placement) -> None:
    values = {
        "id": value.id,
        "job_id": value.job_id,
        "compute_id": value.compute_id,
        "agent_id": value.agent_id,
        "node": value.node,
        "state": value.state.value,
        "valid_seconds": value.valid_seconds,
        "grace_seconds": value.grace_seconds,
        "gpu_indices": list(value.gpu_indices),
        "created_at": value.created_at,
        "renewed_at": value.renewed_at,
        "ended_at": value.ended_at,
        "number": value.number,
        "places": [asdict(place) for place in value.places],
        "scores": [dict(one) for one in value.scores],
    }
    tx.execute(_INSERT, values)


def get(tx: Connection, placement_id: str) -> Placement | None:
    row = tx.execute(select(placement).where(placement.c.id == placement_id)).first()
    return _placement(row) if row else None


def lock(tx: Connection, placement_id: str) -> Placement | None:
    """Read it to change it: it is neither renewed nor ended by anybody else until this transaction ends."""
    row = tx.execute(select(placement).where(placement.c.id == placement_id).with_for_update()).first()
    return _placement(row) if row else None


def newest_of_job(tx: Connection, job_id: str) -> Placement | None:
    query = select(placement).where(placement.c.job_id == job_id)
    row = tx.execute(query.order_by(placement.c.created_at.desc(), placement.c.id.desc()).limit(1)).first()
    return _placement(row) if row else None


def of_job(tx: Connection, job_id: str) -> Sequence[Placement]:
    """Every attempt, in order."""
    query = select(placement).where(placement.c.job_id == job_id)
    return [_placement(row) for row in tx.execute(query.order_by(placement.c.number, placement.c.id))]


def living_of_agent(tx: Connection, agent_id: str) -> Sequence[Placement]:
    return [_placement(row) for row in tx.execute(_OF_AGENT, {"agent": agent_id})]


def living_of_compute(tx: Connection, compute_id: str) -> Sequence[Placement]:
    return [_placement(row) for row in tx.execute(_OF_COMPUTE, {"compute": compute_id})]


def has_any(tx: Connection, compute_id: str) -> bool:
    """True if anything was ever placed there."""
    return tx.scalar(select(placement.c.id).where(placement.c.compute_id == compute_id).limit(1)) is not None


def renewals(tx: Connection) -> Sequence[Renewal]:
    """When each placement that has not ended was renewed last."""
    return [Renewal(*row) for row in tx.execute(_RENEWALS)]


def living(tx: Connection) -> Sequence[Placement]:
    return [_placement(row) for row in tx.execute(_ALL_LIVING)]


def held(tx: Connection) -> Sequence[HeldRow]:
    """Everything that is promised to placements that have not ended; of a distributed job, a row for each process."""
    rows = tx.execute(_HELD).all()
    # One specification of each class: hundreds of jobs ask for the same.
    chosen = {row.class_key: row.job_id for row in rows}
    specs = tx.execute(_SPECS, {"jobs": sorted(chosen.values())}) if chosen else ()
    resources = {row.class_key: JobSpec.from_document(row.spec).resources for row in specs}
    return [
        HeldRow(row.compute_id, place.node, resources[row.class_key], place.gpu_indices, row.id)
        for row in rows
        for place in _places(row.places) or (RankPlace(row.node, tuple(row.gpu_indices)),)
    ]


def gpu_ids(tx: Connection, placement_ids: Collection[str | None]) -> Mapping[str, tuple[int, ...]]:
    """The GPUs that placements hold, process after process."""
    if not placement_ids:
        return {}
    query = select(placement.c.id, placement.c.gpu_indices, placement.c.places).where(placement.c.id.in_(placement_ids))
    return {
        row.id: tuple(index for place in _places(row.places) for index in place.gpu_indices) or tuple(row.gpu_indices)
        for row in tx.execute(query)
    }


def recent_starts(
    tx: Connection, compute_ids: Collection[str], since: datetime
) -> Sequence[tuple[str, datetime, datetime | None]]:  # fmt: skip
    """Of attempts made since then on these computes, the newest first: compute id, when it was given, when it began.

    Those that ended without having begun are left out.
    """
    query = (
        select(placement.c.compute_id, placement.c.created_at, placement.c.started_at)
        .where(
            placement.c.compute_id.in_(sorted(compute_ids)),
            placement.c.created_at >= since,
            placement.c.started_at.is_not(None) | placement.c.ended_at.is_(None),
        )
        .order_by(placement.c.created_at.desc())
    )
    return [(row.compute_id, row.created_at, row.started_at) for row in tx.execute(query)] if compute_ids else []


def leased(tx: Connection, job_ids: Collection[str]) -> Mapping[str, Mapping[str, LeasedCommit]]:
    """What each of these jobs holds on volumes, by job id and commit id."""
    found: dict[str, dict[str, LeasedCommit]] = defaultdict(dict)
    if not job_ids:
        return found
    for row in tx.execute(_LEASED, {"jobs": sorted(job_ids)}):
        found[row.job_id][row.commit_id] = LeasedCommit(
            row.commit_id, row.volume_id, row.project_id, row.dataset_id, row.name, CachedState(row.state)
        )
    return found


def commit_is_in(tx: Connection, commit_id: str, *, project_id: str, dataset_name: str) -> bool:
    """Whether a commit belongs to this dataset of this project."""
    query = select(commit.c.id).join(dataset, dataset.c.id == commit.c.dataset_id)
    query = query.where(commit.c.id == commit_id, dataset.c.project_id == project_id, dataset.c.name == dataset_name)
    return tx.execute(query).first() is not None


def renew(tx: Connection, agent_id: str, told: Collection[str], now: datetime) -> None:
    """Everything this agent is told to run: its keepers count from here again.

    `told` are those that it knows. Of the others those are not renewed that have begun: it has lost them.
    """
    tx.execute(_RENEW, {"agent": agent_id, "told": sorted(told), "renewed_at": now})


def advance(tx: Connection, placement_id: str, state: PlacementState) -> bool:
    """False if it has come further already: an agent that has news asks again, and the older report may come last."""
    states = list(PlacementState)
    before = [one.value for one in states[: states.index(state) + 1]]
    return tx.execute(_ADVANCE, {"changed": placement_id, "before": before, "state": state.value}).rowcount > 0


def note_ranks(tx: Connection, placement_id: str, ranks: Sequence[Rank]) -> None:
    """What was last heard of the processes of a distributed job."""
    said = [asdict(one) | {"state": one.state.value} for one in ranks]
    tx.execute(_CHANGE, {"changed": placement_id, "ranks": said})


def note_start(tx: Connection, placement_id: str, started_at: datetime) -> None:
    """When its command began, by what was heard first."""
    tx.execute(_FIRST_START, {"changed": placement_id, "started_at": started_at})


def note_end(
    tx: Connection, placement_id: str, *, ending: Ending | None, problem: str | None, now: datetime,
    exit_code: int | None = None, signal: int | None = None,
) -> None:  # fmt: skip
    """How this attempt went; it stays when the job is tried again. `ending` is None after success."""
    values = {"ending": ending.value if ending else None, "problem": problem, "exited_at": now}
    tx.execute(_CHANGE, {**values, "changed": placement_id, "exit_code": exit_code, "signal": signal})


def end(tx: Connection, placement_ids: Collection[str], now: datetime) -> None:
    """Over: nobody is told to run it any more and its token opens nothing."""
    tx.execute(_END, {"ended": sorted(placement_ids), "ended_at": now})


def forget_tokens(tx: Connection, before: datetime) -> int:
    """Remove the tokens of placements that ended before this moment; they opened nothing anyway."""
    over = select(placement.c.id).where(placement.c.ended_at < before)
    return tx.execute(token.delete().where(token.c.placement_id.in_(over))).rowcount


def _placement(row: Row[Any]) -> Placement:
    return Placement(
        id=row.id,
        job_id=row.job_id,
        compute_id=row.compute_id,
        agent_id=row.agent_id,
        node=row.node,
        state=PlacementState(row.state),
        valid_seconds=row.valid_seconds,
        gpu_indices=tuple(row.gpu_indices),
        created_at=row.created_at,
        renewed_at=row.renewed_at,
        ended_at=row.ended_at,
        number=row.number,
        grace_seconds=row.grace_seconds,
        started_at=row.started_at,
        exited_at=row.exited_at,
        exit_code=row.exit_code,
        signal=row.signal,
        ending=Ending(row.ending) if row.ending else None,
        problem=row.problem,
        places=_places(row.places),
        ranks=tuple(Rank(**one | {"state": RankState(one["state"])}) for one in row.ranks),
        scores=tuple(row.scores),
    )


def _places(written: Sequence[Mapping[str, Any]]) -> tuple[RankPlace, ...]:
    return tuple(RankPlace(one["node"], tuple(one["gpu_indices"])) for one in written)
