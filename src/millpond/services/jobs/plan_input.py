"""From the database to the snapshot that a plan is made from. Set-based: no query and no word for a single job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from millpond.db import jobs, projects, scheduling
from millpond.decide.near import Rule
from millpond.decide.places import Asked, Zone, places_of, plan_node, required, size_of
from millpond.decide.readiness import Never, Waits, readiness
from millpond.decide.scheduling.backoff import over_quota_from
from millpond.decide.scheduling.snapshot import Job as PlanJob
from millpond.decide.scheduling.snapshot import Node as PlanNode
from millpond.decide.scheduling.snapshot import Pending, Place, Reservation, Running, Seat, Size, Snapshot
from millpond.decide.scheduling.snapshot import Project as PlanProject
from millpond.model.job import JobState
from millpond.model.job_spec import JobSpec
from millpond.model.people import Project
from millpond.services.jobs import snapshot
from millpond.services.jobs.snapshot import World

# Rules whose words are of one job: what it comes after, when it is tried again, where its data has no room.
WITH_WORDS = frozenset({"dependency", "backoff", "data-space"})
# By the ids of job and zone: why a job cannot begin there now, in words.
Blocked = Mapping[tuple[str, str], "Block"]


@dataclass(frozen=True, slots=True)
class Block:
    """A job waits for something else than room: under which rule, and in words."""

    rule: str
    words: str


@dataclass(frozen=True)  # without slots, for what is worked out once
class Loaded:
    """The rows of one moment, and what follows from them for all jobs of a class."""

    now: datetime
    world: World
    projects: Mapping[str, Project]  # by id
    specs: Mapping[str, JobSpec]  # by class
    waiting: tuple[Any, ...]
    running: tuple[Any, ...]
    nominated: tuple[Any, ...]
    reservations: tuple[Reservation, ...]
    # Jobs that come after others, or wait for a retry; those that can never begin.
    held: Mapping[str, Block]
    never: Mapping[str, str]
    # Counts what was applied of plans so far.
    number: int

    @cached_property
    def rows(self) -> Mapping[str, Any]:
        """Queued jobs, nominated ones among them, by id."""
        return {row.id: row for row in (*self.waiting, *self.nominated)}

    @property
    def with_environment(self) -> list[str]:
        """Ids of queued jobs that want packages."""
        return [row.id for row in (*self.waiting, *self.nominated) if self.specs[row.class_key].environment]


def load(tx: Connection, now: datetime, rule: Rule) -> Loaded:
    """One moment: call it in one transaction."""
    number = scheduling.plan_number(tx)
    nominated = scheduling.nominated(tx)
    taken = {row.id for row in nominated}
    waiting = tuple(row for row in scheduling.waiting(tx) if row.id not in taken)
    running = scheduling.running(tx)
    specs = scheduling.specs(tx, {row.class_key for row in (*waiting, *running, *nominated)})
    needed = {
        commit
        for row in (*waiting, *nominated)
        for commit in snapshot.commits_of_spec(specs[row.class_key])
    }  # fmt: skip
    held, never = _readiness(tx, waiting, now)
    return Loaded(
        now=now,
        world=snapshot.load(tx, now, needed, rule),
        projects={project.id: project for project in projects.all_of(tx)},
        specs=specs,
        waiting=waiting,
        running=tuple(running),
        nominated=tuple(nominated),
        reservations=scheduling.reservations(tx),
        held=held,
        never=never,
        number=number,
    )


def plan_input(loaded: Loaded, blocked: Blocked | None = None) -> Snapshot:
    """What a plan is made from. `blocked` keeps jobs out of zones; a job that has none left is held."""
    nodes = _nodes(loaded)
    written = {(node.compute_id, node.name): node.written for node in loaded.world.nodes.values()}
    preempted = [row for row in loaded.running if row.state == JobState.PREEMPTED.value]
    running = [row for row in loaded.running if row.state != JobState.PREEMPTED.value]
    return Snapshot(
        now=loaded.now.timestamp(),
        nodes=nodes,
        projects=tuple(_project(project) for project in loaded.projects.values()),
        running=(*_running(loaded, running, written), *_nominated(loaded, written)),
        pending=tuple(_pending(loaded, blocked or {})),
        reservations=loaded.reservations,
        ending=tuple(_running(loaded, preempted, written)),
    )


def _readiness(
    tx: Connection, waiting: Collection[Any], now: datetime
) -> tuple[Mapping[str, Block], Mapping[str, str]]:  # fmt: skip
    """Only of the few that depend on others or wait for a retry."""
    asked = [row.id for row in waiting if row.dependent or row.not_before is not None]
    found = jobs.by_ids(tx, asked)
    others = jobs.by_ids(tx, {one.job for job in found.values() for one in job.spec.after})
    held: dict[str, Block] = {}
    never: dict[str, str] = {}
    for job in found.values():
        answer = readiness(job, others, now)
        if isinstance(answer, Waits):
            held[job.id] = Block(answer.rule, answer.reason)
        elif isinstance(answer, Never):
            never[job.id] = answer.reason
    return held, never


def _nodes(loaded: Loaded) -> tuple[PlanNode, ...]:
    asked, zones = Asked.by(loaded.specs.values()), loaded.world.zones
    return tuple(plan_node(node, zones[node.compute_id], asked) for node in loaded.world.nodes.values())


def _project(project: Project) -> PlanProject:
    shares = project.shares
    return PlanProject(
        name=project.name,
        quotas=shares.quotas,
        weight=shares.weight,
        over_quota=shares.over_quota,
        limit=shares.limit,
        min_runtime=shares.min_runtime,
    )


def _running(loaded: Loaded, rows: Iterable[Any], written: Mapping[tuple[str, str], str]) -> list[Running]:
    found = []
    for row in rows:
        places = row.places or [{"node": row.node, "gpu_indices": row.gpu_indices}]
        started = (row.started_at or row.created_at).timestamp()
        # Nothing more is lost of a job that is being stopped anyway.
        saved = loaded.now if row.stop_requested_at is not None else row.saved_at
        seats = _seats(row.compute_id, places, written)
        found.append(Running(_job(loaded, row), seats, started, saved.timestamp() if saved else None))
    return found


def _nominated(loaded: Loaded, written: Mapping[tuple[str, str], str]) -> list[Running]:
    return [
        Running(
            _job(loaded, row), _seats(row.compute_id, row.places, written), row.at.timestamp(), nominated=True
        )
        for row in loaded.nominated
    ]  # fmt: skip


def _seats(compute_id: str, places: Any, written: Mapping[tuple[str, str], str]) -> tuple[Seat, ...]:
    return tuple(
        Seat(written.get((compute_id, place["node"]), f"{compute_id}/{place['node']}"), tuple(place["gpu_indices"]))
        for place in places
    )


def _pending(loaded: Loaded, blocked: Blocked) -> list[Pending]:
    zones = {zone.name: zone for zone in loaded.world.zones.values()}
    of_class: dict[tuple[str, str], tuple[frozenset[str], tuple[Place, ...] | None]] = {}
    kept_out: dict[str, dict[str, Block]] = {}
    for (job_id, zone), block in blocked.items():
        kept_out.setdefault(job_id, {})[zone] = block
    now = loaded.now.timestamp()
    found = []
    for row in loaded.waiting:
        key = (row.project_id, row.class_key)
        if key not in of_class:
            of_class[key] = _of_class(loaded, row, zones)
        requires, places = of_class[key]
        waits = loaded.held.get(row.id)
        held = waits.rule if waits else None
        if row.id in kept_out:
            places, held = _without(places, zones, kept_out[row.id], held)
        since = over_quota_from(row.preempted_at, now) if row.preempted_at else 0.0
        found.append(Pending(_job(loaded, row), requires, places, held, since))
    return found


def _of_class(
    loaded: Loaded, row: Any, zones: Mapping[str, Zone]
) -> tuple[frozenset[str], tuple[Place, ...] | None]:  # fmt: skip
    spec, project = loaded.specs[row.class_key], loaded.projects[row.project_id]
    asked = snapshot.queued_job(
        row.id, spec, snapshot.commits_of_spec(spec), loaded.world.sizes, project_id=project.id, project=project.name
    )
    return required(spec, project.shares), places_of(asked, [zones[name] for name in sorted(zones)])


def _without(
    places: tuple[Place, ...] | None, zones: Mapping[str, Zone], blocks: Mapping[str, Block], held: str | None
) -> tuple[tuple[Place, ...], str | None]:
    known = tuple(Place(name) for name in sorted(zones)) if places is None else places
    left = tuple(place for place in known if place.zone not in blocks)
    return left, held if left else held or min(block.rule for block in blocks.values())


def _job(loaded: Loaded, row: Any) -> PlanJob:
    return PlanJob(
        row.id, row.project, _size(loaded, row), row.priority, row.queued_at.timestamp(), row.preemptible,
        row.timeout_seconds or None,
    )  # fmt: skip


def _size(loaded: Loaded, row: Any) -> Size:
    return size_of(loaded.specs[row.class_key])
