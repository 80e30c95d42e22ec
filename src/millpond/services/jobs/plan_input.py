"""From the database to the snapshot that a plan is made from. Set-based: no query and no word for a single job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millpond.decide.places import Asked, plan_node
from millpond.decide.scheduling.backoff import over_quota_from
from millpond.decide.scheduling.bursts import Burst, plan_bursts
from millpond.decide.scheduling.snapshot import Job as PlanJob
from millpond.decide.scheduling.snapshot import Node as PlanNode
from millpond.decide.scheduling.snapshot import Pending, Running, Seat, Snapshot
from millpond.decide.scheduling.snapshot import Project as PlanProject
from millpond.decide.zone_waits import ZoneWaits
from millpond.model.job import JobState
from millpond.model.people import Project
from millpond.services.jobs.loaded import Blocked, Loaded
from millpond.services.jobs.scored_jobs import ScoredJobs


@dataclass(frozen=True, slots=True)
class PlanInput:
    """What a plan is made from, and what each place costs each job.

    `ways`: of jobs that name a queue, how each may start now, in order; `templates`: the template of each way.
    """

    snapshot: Snapshot
    ways: Mapping[str, Sequence[Pending]]
    templates: Mapping[str, Sequence[str | None]]
    scored: ScoredJobs

    def plan(self) -> Burst:
        return plan_bursts(self.snapshot, self.ways)

    def template_of(self, burst: Burst, job_id: str) -> str | None:
        """The template that a job is planned with; None if it names no queue."""
        found = self.templates.get(job_id)
        return found[burst.chosen.get(job_id, 0)] if found else None


def plan_input(loaded: Loaded, blocked: Blocked | None = None) -> PlanInput:
    """What a plan is made from. `blocked` keeps jobs out of zones; a job that has none left is held."""
    nodes = _nodes(loaded)
    written = {(node.compute_id, node.name): node.written for node in loaded.world.nodes.values()}
    preempted = [row for row in loaded.running if row.state == JobState.PREEMPTED.value]
    held = [row for row in loaded.running if row.state != JobState.PREEMPTED.value]
    running = (*_running(loaded, held, written), *_nominated(loaded, written))
    ending = tuple(_running(loaded, preempted, written))
    now = loaded.now.timestamp()
    scored = ScoredJobs(loaded, ZoneWaits(nodes, (*running, *ending), now), blocked or {})
    pending, ways, templates = _pending(loaded, scored)
    snapshot = Snapshot(
        now=now,
        nodes=nodes,
        projects=tuple(_project(project, loaded.job_quotas.get(key)) for key, project in loaded.projects.items()),
        running=running,
        pending=tuple(pending),
        reservations=loaded.reservations,
        ending=ending,
    )
    return PlanInput(snapshot, ways, templates, scored)


def _nodes(loaded: Loaded) -> tuple[PlanNode, ...]:
    chosen = (choice.spec for found in loaded.choices.values() for choice in found)
    asked, zones = Asked.by((*loaded.specs.values(), *chosen)), loaded.world.zones
    return tuple(plan_node(node, zones[node.compute_id], asked) for node in loaded.world.nodes.values())


def _project(project: Project, jobs: int | None) -> PlanProject:
    shares = project.shares
    return PlanProject(
        name=project.name,
        quotas=shares.quotas,
        weight=shares.weight,
        over_quota=shares.over_quota,
        limit=shares.limit,
        jobs=jobs,
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


def _pending(
    loaded: Loaded, scored: ScoredJobs
) -> tuple[list[Pending], Mapping[str, Sequence[Pending]], Mapping[str, Sequence[str | None]]]:
    """Every queued job; all ways to run those that name a queue, with the template of each."""
    now = loaded.now.timestamp()
    found: list[Pending] = []
    ways: dict[str, Sequence[Pending]] = {}
    templates: dict[str, Sequence[str | None]] = {}
    for row in loaded.waiting:
        waits = loaded.held.get(row.id)
        since = over_quota_from(row.preempted_at, now) if row.preempted_at else 0.0
        job, usable = _job(loaded, row), scored.ways(row)
        several = [
            Pending(
                job if way.size == job.size else replace(job, size=way.size), way.requires, way.places,
                waits.rule if waits else way.held, since,
            )
            for way in usable
        ]  # fmt: skip
        found.append(several[0])
        if row.id in loaded.choices:
            ways[row.id] = several
            templates[row.id] = [way.template for way in usable]
    return found, ways, templates


def _job(loaded: Loaded, row: Any) -> PlanJob:
    return PlanJob(
        row.id, row.project, loaded.plan_sizes[row.class_key], row.priority, row.queued_at.timestamp(),
        row.preemptible, row.timeout_seconds or None, loaded.apart[row.class_key],
    )  # fmt: skip
