"""Rounds over elastic computes: look what exists, decide what is needed, and have machines created and deleted.

A machine is recorded before it is created, under a name that its provisioner gives to it: whichever process dies at
whatever moment, the next round finds the record, the machine, or both, and either goes on with it or deletes it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import computes, elastic, gpu_shares, jobs, placements, projects, queues, templates
from millpond.decide.computes import Need, QueuedJob
from millpond.decide.elastic import Create, Delete, ElasticPlan, Machine, Offer, Waiting, pause_after, plan_machines
from millpond.decide.readiness import Ready, readiness
from millpond.decide.scheduling.snapshot import Size
from millpond.decide.templates import entries_of, open_choices
from millpond.errors import MillError
from millpond.model.compute import Compute
from millpond.model.elastic import ElasticCompute, ElasticNode, ElasticState
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.people import SYSTEM
from millpond.model.quantity import format_seconds
from millpond.model.template import Queue, Template
from millpond.services.computes import compute_care, joining
from millpond.services.computes import elastic as elastic_service
from millpond.services.computes.presence import is_connected
from millpond.services.computes.provisioners import NewMachine, Provisioner
from millpond.services.deps import Deps
from millpond.services.jobs import snapshot

logger = getLogger(__name__)

SECONDS = 2.0
# How often an elastic compute without machines is looked at: somebody else's crash may have left one.
QUIET_SECONDS = 600.0
# Between two tries to delete a machine.
AGAIN_SECONDS = 30.0
_AT_ONCE = 8
# Jobs at the head of the queue that machines are created for.
_LOOKED_AT = 1000
_KEPT = timedelta(days=30)
Open = Callable[[Deps, ElasticCompute], Provisioner]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at a provisioner found; `names` is None if it failed or was not due."""

    elastic: ElasticCompute
    provisioner: Provisioner | None
    names: frozenset[str] | None
    problem: str | None = None


class ElasticRounds:
    """One for each server process: it remembers which commands it is running."""

    def __init__(self, deps: Deps, open_provisioner: Open = elastic_service.provisioner_of) -> None:
        self._deps = deps
        self._open = open_provisioner
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        # When, by the steady clock: the last look at each elastic compute, the last try to delete each machine.
        self._looked: dict[str, float] = {}
        self._deleted: dict[str, float] = {}

    def run_once(self, now: datetime) -> None:
        with self._deps.db.read() as tx:
            known = elastic.all_of(tx)
            with_machines = {node.elastic_id for node in elastic.living_nodes(tx)}
        if not known:
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            seen = list(pool.map(lambda one: self._look(one, one.id in with_machines), known))
        # Read after the look: a machine that exists was recorded before.
        with self._deps.db.read() as tx:
            living = elastic.living_nodes(tx)
        for one in seen:
            own = [node for node in living if node.elastic_id == one.elastic.id]
            self._note_problem(one)
            self._remove_unknown(one, own)
        self._follow(seen, living, now)
        self._apply(self._plan(seen, now), seen, now)
        self._delete_all(seen)

    def _look(self, value: ElasticCompute, has_machines: bool) -> Seen:
        elapsed = self._deps.clock.elapsed()
        due = has_machines or elapsed >= self._looked.get(value.id, -QUIET_SECONDS) + QUIET_SECONDS
        try:
            provisioner = self._open(self._deps, value)
            names = frozenset(provisioner.observe()) if due else None
        except MillError as error:
            return Seen(value, None, None, error.message)
        if due:
            self._looked[value.id] = elapsed
        return Seen(value, provisioner, names)

    def _note_problem(self, seen: Seen) -> None:
        if seen.problem is None or seen.problem == seen.elastic.problem:
            return
        logger.warning("elastic_problem elastic=%s reason=%s", seen.elastic.name, seen.problem)
        self._change(seen.elastic.id, problem=seen.problem)

    def _remove_unknown(self, seen: Seen, own: Sequence[ElasticNode]) -> None:
        """Delete machines that no record is about: left by a crash, or by a database that is gone."""
        for name in sorted((seen.names or frozenset()) - {node.name for node in own}):
            logger.warning("elastic_unknown machine=%s elastic=%s", name, seen.elastic.name)
            self._delete(seen, name)

    # How machines that are known go on

    def _follow(self, seen: Sequence[Seen], living: Sequence[ElasticNode], now: datetime) -> None:
        with self._deps.db.read() as tx:
            found = {node.compute_id: computes.get(tx, node.compute_id) for node in living if node.compute_id}
        elapsed = self._deps.clock.elapsed()
        # Counted by this server's own clock, from when it first saw each as it is.
        unchanged = self._deps.unchanged.seconds(
            "elastic machine", {node.id: _changes(node, found.get(node.compute_id or "")) for node in living}, elapsed
        )
        by_id = {one.elastic.id: one for one in seen}
        for node in living:
            one, compute = by_id.get(node.elastic_id), found.get(node.compute_id or "")
            if one is None:
                continue
            after = self._followed(node, one, compute, unchanged[node.id], now)
            if after is not None:
                self._save(node, after, now)

    def _followed(
        self, node: ElasticNode, seen: Seen, compute: Compute | None, seconds: float, now: datetime
    ) -> ElasticNode | None:
        """The machine as it is from now on; None if nothing has changed."""
        is_there = compute is not None and is_connected(compute.seen_at, now)
        is_listed = seen.names is None or node.name in seen.names
        limit = seen.elastic.spec.start_seconds
        match node.state:
            case ElasticState.CREATING | ElasticState.STARTING if is_there:
                return replace(node, state=ElasticState.READY, ready_at=now)
            case ElasticState.CREATING | ElasticState.STARTING if seconds > limit and node.name not in self._busy:
                return _ending(node, f"Its agent did not join within {format_seconds(limit)}.", now, failed=True)
            case ElasticState.CREATING if seen.names is not None and is_listed:
                return replace(node, state=ElasticState.STARTING)
            case ElasticState.READY if not is_there and not is_listed:
                return _ending(node, "The machine disappeared.", now)
            case ElasticState.READY if not is_there and seconds > limit:
                return _ending(node, f"Its agent has been away for {format_seconds(limit)}.", now, failed=True)
            case ElasticState.DELETING if seen.names is not None and not is_listed and node.name in self._deleted:
                return replace(node, state=ElasticState.GONE, gone_at=now)
        return None

    def _save(self, before: ElasticNode, after: ElasticNode, now: datetime) -> None:
        if after.state is ElasticState.GONE:
            self._detach(after)  # first: nobody looks at a machine that is gone any more
        with self._deps.db.write() as tx:
            current = elastic.lock_node(tx, before.id)
            if current is None or current.state is not before.state:
                return  # another server was quicker
            elastic.change_node(tx, replace(after, compute_id=current.compute_id))
            self._note_outcome(tx, before, after, now)
        logger.info("elastic_machine machine=%s state=%s reason=%s", after.name, after.state.value, after.reason)

    def _note_outcome(self, tx: Connection, before: ElasticNode, after: ElasticNode, now: datetime) -> None:
        """Failures make the elastic compute rest; a machine that came up ends that."""
        value = elastic.lock(tx, after.elastic_id)
        if value is None:
            return
        if after.state is ElasticState.READY:
            elastic.change(tx, replace(value, failures=0, retry_at=None, problem=None))
        elif after.problem is not None and before.problem is None:
            elastic.change(tx, _failed(value, after.problem, now))

    def _detach(self, node: ElasticNode) -> None:
        """Forget the compute of a machine that is gone. Jobs that were there are placed again once they ran out."""
        self._deleted.pop(node.name, None)
        with self._deps.db.read() as tx:
            name = elastic.compute_name(tx, node.compute_id) if node.compute_id else None
        if name is not None:
            compute_care.detach(self._deps, SYSTEM, name, force=True)

    # What is needed

    def _plan(self, seen: Sequence[Seen], now: datetime) -> ElasticPlan:
        with self._deps.db.read() as tx:
            living = [node for node in elastic.living_nodes(tx) if node.state.counts]
            views = {view.compute_id: view for view in snapshot.node_views(tx, now)}
            held = _held(tx)
            newest = {one.id: one for one in elastic.all_of(tx)}
            offers = [_offer(tx, newest[one.elastic.id], one.problem, now) for one in seen if one.elastic.id in newest]
            waiting = _waiting(tx, now)
        idle = [node for node in living if node.state is ElasticState.READY and node.compute_id not in held]
        since = self._deps.unchanged.seconds(
            "elastic idle", {node.id: True for node in idle}, self._deps.clock.elapsed()
        )
        machines = [
            Machine(
                node.name, node.elastic, views.get(node.compute_id or ""), held.get(node.compute_id or "", ()),
                since.get(node.id),
            )
            for node in living
        ]  # fmt: skip
        return plan_machines(offers, machines, waiting)

    def _apply(self, plan: ElasticPlan, seen: Sequence[Seen], now: datetime) -> None:
        by_name = {one.elastic.name: one for one in seen}
        for create in plan.creates:
            self._create(by_name[create.offer], create, now)
        with self._deps.db.read() as tx:
            living = {node.name: node for node in elastic.living_nodes(tx)}
        for delete in plan.deletes:
            if delete.machine in living:
                self._retire(living[delete.machine], delete, now)

    def _create(self, seen: Seen, wanted: Create, now: datetime) -> None:
        """Record the machine, then have it created."""
        spec, provisioner = seen.elastic.spec, seen.provisioner
        if provisioner is None:
            return
        token, secret = joining.create(
            self._deps, SYSTEM, site=spec.site, seconds=min(spec.start_seconds + 60, joining.MAX_SECONDS)
        )
        name = f"{seen.elastic.name}-{new_id(10)}"
        node = ElasticNode(
            new_id(), seen.elastic.id, seen.elastic.name, name, ElasticState.CREATING, wanted.reason, token.id, now,
            price_per_hour=spec.price_per_hour,
        )  # fmt: skip
        with self._deps.db.write() as tx:
            value = elastic.lock(tx, seen.elastic.id)
            count = sum(one.state.counts for one in elastic.living_nodes(tx, [seen.elastic.id]))
            if value is None or count >= value.spec.maximum:
                return  # another server was quicker
            elastic.insert_node(tx, node)
        logger.info("elastic_create machine=%s elastic=%s reason=%s", name, seen.elastic.name, wanted.reason)
        machine = NewMachine(
            name=name, server=self._deps.settings.url, join_token=secret, site=spec.site, driver=spec.driver,
            cpus=spec.cpus, memory_bytes=spec.memory_bytes, gpus=spec.gpus, gpu_type=spec.gpu_type,
            gpu_memory_bytes=spec.gpu_memory_bytes, labels=spec.labels, start_seconds=spec.start_seconds,
        )  # fmt: skip
        self._begin(name, partial(self._run_create, provisioner, node, machine))

    def _run_create(self, provisioner: Provisioner, node: ElasticNode, machine: NewMachine) -> None:
        try:
            provisioner.create(machine)
        except MillError as error:
            now = self._deps.clock.now()
            self._save(node, _ending(node, error.message, now, failed=True), now)
        else:
            self._save(node, replace(node, state=ElasticState.STARTING), self._deps.clock.now())

    def _retire(self, node: ElasticNode, delete: Delete, now: datetime) -> None:
        """Keep new jobs away and delete the machine, unless a job has started there: in one transaction."""
        with self._deps.db.write() as tx:
            computes.lock(tx, node.compute_id or "")
            current = elastic.lock_node(tx, node.id)
            if current is None or current.state is not ElasticState.READY:
                return
            if placements.living_of_compute(tx, current.compute_id or ""):
                return
            computes.change(tx, current.compute_id or "", cordoned_at=now, cordoned_by=SYSTEM.name)
            used = placements.has_any(tx, current.compute_id or "")
            # One that ran nothing was made in vain: the next one waits, or whatever is wrong would go on for ever.
            failed = not (used or delete.is_surplus)
            ending = replace(_ending(current, delete.reason, now, failed=failed), used=used)
            elastic.change_node(tx, ending)
            self._note_outcome(tx, current, ending, now)
        logger.info("elastic_delete machine=%s reason=%s", node.name, delete.reason)

    # Deleting

    def _delete_all(self, seen: Sequence[Seen]) -> None:
        by_id = {one.elastic.id: one for one in seen}
        with self._deps.db.read() as tx:
            ending = [node for node in elastic.living_nodes(tx) if node.state is ElasticState.DELETING]
        for node in ending:
            if node.elastic_id in by_id:
                self._delete(by_id[node.elastic_id], node.name)

    def _delete(self, seen: Seen, name: str) -> None:
        elapsed = self._deps.clock.elapsed()
        if seen.provisioner is None or elapsed < self._deleted.get(name, -AGAIN_SECONDS) + AGAIN_SECONDS:
            return
        self._begin(name, partial(self._run_delete, seen.provisioner, name))

    def _run_delete(self, provisioner: Provisioner, name: str) -> None:
        try:
            provisioner.delete(name)
        except MillError as error:
            logger.warning("elastic_not_deleted machine=%s reason=%s", name, error.message)
        self._deleted[name] = self._deps.clock.elapsed()

    # Parts

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        """Run a command of a machine beside the round, one at a time."""
        with self._lock:
            if name in self._busy:
                return
            self._busy.add(name)
        threading.Thread(target=self._work, args=(name, work), name=f"elastic {name}", daemon=True).start()

    def _work(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            logger.exception("elastic_failed machine=%s", name)
        finally:
            with self._lock:
                self._busy.discard(name)
            self._deps.events.wake(elastic_service.TOPIC)

    def _change(self, elastic_id: str, **values: object) -> None:
        with self._deps.db.write() as tx:
            value = elastic.lock(tx, elastic_id)
            if value is not None:
                elastic.change(tx, replace(value, **values))  # type: ignore[arg-type]


def forget_gone(deps: Deps, now: datetime) -> int:
    """Housekeeping: forget machines that were gone long ago."""
    with deps.db.write() as tx:
        return elastic.forget_gone(tx, now - _KEPT)


def _changes(node: ElasticNode, compute: Compute | None) -> object:
    """What tells that a machine goes on: until its agent has joined its state, from then on what is heard of it."""
    if node.state is ElasticState.READY:
        return compute.seen_at if compute else None
    return "starting" if node.state.counts else node.state


def _ending(node: ElasticNode, reason: str, now: datetime, *, failed: bool = False) -> ElasticNode:
    problem = reason if failed else node.problem
    return replace(node, state=ElasticState.DELETING, reason=reason, deleting_at=now, problem=problem)


def _failed(value: ElasticCompute, problem: str, now: datetime) -> ElasticCompute:
    failures = value.failures + 1
    return replace(
        value, failures=failures, retry_at=now + timedelta(seconds=pause_after(failures)), problem=problem
    )  # fmt: skip


def _offer(tx: Connection, value: ElasticCompute, problem: str | None, now: datetime) -> Offer:
    waits = value.retry_at is not None and value.retry_at > now
    return Offer(
        name=value.name,
        node=elastic_service.node_of(tx, value),
        price_per_hour=value.spec.price_per_hour,
        minimum=value.spec.minimum,
        maximum=value.spec.maximum,
        idle_seconds=value.spec.idle_seconds,
        wait_seconds=value.spec.wait_seconds,
        has_volume=elastic_service.has_volume(tx, value),
        blocked=problem or (value.problem or "resting" if waits else None),
    )


def _waiting(tx: Connection, now: datetime) -> list[Waiting]:
    """Queued jobs that nothing but room keeps from starting, in order."""
    queued = jobs.queued(tx)[:_LOOKED_AT]
    others = jobs.by_ids(tx, {one.job for job in queued for one in job.spec.after})
    allowed = _within_limits(tx, [job for job in queued if isinstance(readiness(job, others, now), Ready)])
    lists, known = queues.by_name(tx), templates.by_name(tx)
    return [_waiting_job(job, lists, known, now) for job in allowed]


def _waiting_job(job: Job, lists: Mapping[str, Queue], known: Mapping[str, Template], now: datetime) -> Waiting:
    seconds = (now - (job.status.requeued_at or job.queued_at)).total_seconds()
    found = open_choices(job.spec, job.status.template, entries_of(job.spec.on or "", lists), known, seconds)
    first, *others = [_queued(replace(job, spec=choice.spec)) for choice in found] or [_queued(job)]
    return Waiting(first, seconds, tuple(others))


def _held(tx: Connection) -> dict[str, tuple[tuple[Size, tuple[int, ...]], ...]]:
    """What jobs hold, by compute id: a machine is one node."""
    found: dict[str, tuple[tuple[Size, tuple[int, ...]], ...]] = defaultdict(tuple)
    for row in placements.held(tx):
        size = Size(row.resources.gpu_hundredths, row.resources.cpu, row.resources.memory_bytes)
        found[row.compute_id] = (*found[row.compute_id], (size, row.gpu_indices))
    return found


def _within_limits(tx: Connection, found: Sequence[Job]) -> list[Job]:
    """Without jobs that the limit of their project keeps back, however many machines there are."""
    limits = {project.id: project.shares.limit for project in projects.all_of(tx)}
    held: dict[str, int] = defaultdict(int)
    for (project_id, _), hundredths in gpu_shares.allocated(tx).items():
        held[project_id] += hundredths
    allowed: list[Job] = []
    for job in found:
        limit, size = limits.get(job.project_id), job.spec.gpu_hundredths * max(1, job.spec.processes)
        if limit is None or not size or held[job.project_id] + size <= limit:
            held[job.project_id] += size
            allowed.append(job)
    return allowed


def _queued(job: Job) -> QueuedJob:
    needs = tuple(Need(commit, 0) for commit in snapshot.commits_of(job))
    return QueuedJob(job.id, job.spec, needs, project_id=job.project_id, project=job.project)
