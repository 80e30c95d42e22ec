"""Everything a plan is made from, as rows of one moment. Set-based: no query for a single job."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from millpond.db import jobs, placements, projects, queues, scheduling, templates
from millpond.decide.engine_waits import SINCE, engine_waits
from millpond.decide.places import apart_of, size_of
from millpond.decide.readiness import Never, Waits, readiness
from millpond.decide.scheduling.snapshot import Reservation, Size
from millpond.decide.score import ScorePolicy
from millpond.decide.templates import TemplateChoice, choices, entries_of, unfilled
from millpond.model.documents import from_document
from millpond.model.job import Job
from millpond.model.job_spec import JobSpec
from millpond.model.people import Project
from millpond.model.template import TemplateUse
from millpond.services.jobs import snapshot
from millpond.services.jobs.snapshot import World
from millpond.services.places.geography import rule_of
from millpond.services.quotas import quotas
from millpond.services.workspaces import in_jobs
from millpond.settings import Settings

# Rules whose words are of one job: what it comes after, when it is tried again, where its data has no room.
WITH_WORDS = frozenset({"dependency", "backoff", "data-space", "locality", "template", in_jobs.RULE})


@dataclass(frozen=True, slots=True)
class Block:
    """A job waits for something else than room: under which rule, and in words."""

    rule: str
    words: str


# By the ids of job and zone: why a job cannot begin there now.
Blocked = Mapping[tuple[str, str], Block]


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
    # Jobs that come after others, or wait for a retry or a workspace; those that can never begin.
    held: Mapping[str, Block]
    never: Mapping[str, str]
    # Counts what was applied of plans so far.
    number: int
    policy: ScorePolicy
    # Of jobs that name a queue: the ways to run each, in order.
    choices: Mapping[str, Sequence[TemplateChoice]]
    # When the last of the jobs that a job comes after has ended.
    ready_at: Mapping[str, datetime]
    # By zone: how long jobs wait in the queue of its engine.
    queues: Mapping[str, float]
    # How many jobs a project may have at once, by id, where that is limited.
    job_quotas: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Mapping[str, Any]:
        """Queued jobs, nominated ones among them, by id."""
        return {row.id: row for row in (*self.waiting, *self.nominated)}

    @cached_property
    def plan_sizes(self) -> Mapping[str, Size]:
        """What each process of a job takes, by class."""
        return {key: size_of(spec) for key, spec in self.specs.items()}

    @cached_property
    def apart(self) -> Mapping[str, str]:
        """Which jobs go to different nodes, by class: replicas of one version for one endpoint, in their project."""
        return {key: apart_of(spec) for key, spec in self.specs.items()}

    @property
    def with_environment(self) -> list[str]:
        """Ids of queued jobs that want packages."""
        return [row.id for row in (*self.waiting, *self.nominated) if self.specs[row.class_key].environment]


def policy_of(settings: Settings) -> ScorePolicy:
    return ScorePolicy(settings.wait_price, settings.fill_price, settings.locality_patience, settings.data_lead)


def load(tx: Connection, now: datetime, settings: Settings, also: Collection[str] = ()) -> Loaded:
    """One moment: call it in one transaction. `also`: commits that are looked for beside those of queued jobs."""
    policy, rule = policy_of(settings), rule_of(settings)
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
    held, never, ready_at = _readiness(tx, waiting, now)
    held = {**_workspaces(tx, waiting, specs), **held}
    world = snapshot.load(tx, now, needed | set(also), rule, policy.fill_price)
    return Loaded(
        now=now,
        world=world,
        projects={project.id: project for project in projects.all_of(tx)},
        specs=specs,
        waiting=waiting,
        running=tuple(running),
        nominated=tuple(nominated),
        reservations=scheduling.reservations(tx),
        held=held,
        never=never,
        number=number,
        policy=policy,
        choices=_choices(tx, waiting, specs),
        ready_at=ready_at,
        queues=_queues(tx, world, now),
        job_quotas=quotas.limits_of_jobs(tx),
    )


def _readiness(
    tx: Connection, waiting: Collection[Any], now: datetime
) -> tuple[Mapping[str, Block], Mapping[str, str], Mapping[str, datetime]]:
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
    ready_at = {job.id: _ready_at(job, others) for job in found.values()}
    return held, never, {job_id: at for job_id, at in ready_at.items() if at is not None}


def _workspaces(tx: Connection, waiting: Collection[Any], specs: Mapping[str, JobSpec]) -> dict[str, Block]:
    """Of the few that have workspaces, those that wait for one of them."""
    having = [row.id for row in waiting if specs[row.class_key].workspaces]
    return {job_id: Block(in_jobs.RULE, words) for job_id, words in in_jobs.waiting(tx, having).items()}


def _ready_at(job: Job, others: Mapping[str, Job]) -> datetime | None:
    """When the last of the jobs that it comes after has ended, or its pause before a retry."""
    ends = [others[one.job].status.ended_at for one in job.spec.after if one.job in others]
    return max((at for at in (*ends, job.status.not_before) if at is not None), default=None)


def _queues(tx: Connection, world: World, now: datetime) -> Mapping[str, float]:
    """How long jobs wait in the queues of engines that have one."""
    queueing = [compute.id for compute in world.computes.values() if compute.can("queues")]
    waits = engine_waits(placements.recent_starts(tx, queueing, now - SINCE), now)
    found: dict[str, float] = {}
    for compute_id, seconds in waits.items():
        if compute_id in world.zones:
            zone = world.zones[compute_id].name
            found[zone] = min(seconds, found.get(zone, seconds))
    return found


def _choices(
    tx: Connection, waiting: Iterable[Any], specs: Mapping[str, JobSpec]
) -> Mapping[str, Sequence[TemplateChoice]]:  # fmt: skip
    """Of the jobs that list templates, by id. A queue or template that is gone leaves a job with what it has."""
    on_queue = [row for row in waiting if specs[row.class_key].on is not None]
    if not on_queue:
        return {}
    known, lists = templates.by_name(tx), queues.by_name(tx)
    made: dict[tuple[str, str], Sequence[TemplateChoice]] = {}
    found: dict[str, Sequence[TemplateChoice]] = {}
    for row in on_queue:
        entries = entries_of(specs[row.class_key].on or "", lists)
        if not entries:
            continue
        key = (row.class_key, written_template(row.template))
        if key not in made:
            use = from_document(TemplateUse, row.template) if row.template else None
            made[key] = choices(unfilled(specs[row.class_key], use), entries, known)[0]
        if made[key]:
            found[row.id] = made[key]
    return found


def written_template(template: Any) -> str:
    """Equal for jobs whose template has filled in the same."""
    return json.dumps(template, sort_keys=True) if template else ""
