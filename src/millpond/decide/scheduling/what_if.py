"""What if quotas, settings or nodes were different: the same jobs are replayed both ways, and compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from millpond.decide.scheduling.simulate import Arrival, Outcome, simulate
from millpond.decide.scheduling.snapshot import Node, Pending, Place, Project, Snapshot


@dataclass(frozen=True, slots=True)
class ProjectWhatIf:
    """Other settings of a project, amounts in hundredths of a GPU; None: as it is. `quota` is of the default pool."""

    quota: int | None = None
    weight: int | None = None
    limit: int | None = None
    over_quota: bool | None = None
    min_runtime: float | None = None


@dataclass(frozen=True, slots=True)
class MoreNodes:
    """Nodes to add, like one that is there (None: the largest), at its site or at another; None: as that one."""

    count: int = 1
    like: str | None = None
    site: str | None = None
    gpus: int | None = None
    cpu: int | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    projects: Mapping[str, ProjectWhatIf] = field(default_factory=dict)
    nodes: Sequence[MoreNodes] = ()
    rebalance: bool | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """How it went for some jobs: waits in seconds from submission to the first start."""

    jobs: int
    started: int
    mean_wait: float
    p95_wait: float
    preemptions: int
    gpu_hours: float


@dataclass(frozen=True, slots=True)
class ReplayedCluster(Replayed):
    goodput: float
    lost_share: float
    max_preemptions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ProjectReplayed:
    project: str
    now: Replayed
    then: Replayed


@dataclass(frozen=True, slots=True)
class Comparison:
    now: ReplayedCluster
    then: ReplayedCluster
    projects: tuple[ProjectReplayed, ...]


def compare(snapshot: Snapshot, change: Change, arrivals: Sequence[Arrival]) -> Comparison:
    """Replay the arrivals on the cluster as it is and as it would be. KeyError: see `apply_change`."""
    changed = apply_change(snapshot, change)
    added = {node.zone for node in changed.nodes} - {node.zone for node in snapshot.nodes}
    now = simulate(snapshot, arrivals, None)
    then = simulate(changed, [replace(one, pending=_also_in(one.pending, added)) for one in arrivals], None)
    projects = sorted({one.pending.job.project for one in arrivals})
    return Comparison(
        _cluster(now, arrivals),
        _cluster(then, arrivals),
        tuple(
            ProjectReplayed(name, _replayed(now, own), _replayed(then, own))
            for name in projects
            for own in ([one for one in arrivals if one.pending.job.project == name],)
        ),
    )


def apply_change(snapshot: Snapshot, change: Change) -> Snapshot:
    """The cluster as it would be. KeyError for a project, or for a node to be like, that is not there."""
    known = {project.name: project for project in snapshot.projects}
    for name, one in change.projects.items():
        known[name] = _changed(known[name], one)
    nodes = list(snapshot.nodes)
    for number, more in enumerate(change.nodes):
        nodes += _more(snapshot.nodes, more, number)
    rebalance = snapshot.rebalance if change.rebalance is None else change.rebalance
    return replace(snapshot, nodes=tuple(nodes), projects=tuple(known.values()), rebalance=rebalance)


def _changed(project: Project, change: ProjectWhatIf) -> Project:
    return replace(
        project,
        quotas=project.quotas if change.quota is None else {**project.quotas, "": change.quota},
        weight=project.weight if change.weight is None else change.weight,
        limit=project.limit if change.limit is None else change.limit,
        over_quota=project.over_quota if change.over_quota is None else change.over_quota,
        min_runtime=project.min_runtime if change.min_runtime is None else change.min_runtime,
    )


def _more(nodes: Sequence[Node], more: MoreNodes, number: int) -> list[Node]:
    model = _model(nodes, more.like)
    zone, compute = model.zone, model.compute
    if more.site is not None:
        there = next((node for node in nodes if node.zone == more.site), None)
        zone, compute = more.site, there.compute if there else more.site
    return [
        replace(
            model,
            id=f"{compute}/added-{number}-{index}",
            compute=compute,
            zone=zone,
            gpus=model.gpus if more.gpus is None else more.gpus,
            cpu=model.cpu if more.cpu is None else more.cpu,
            memory=model.memory if more.memory is None else more.memory,
            up=True,
            open=True,
        )
        for index in range(more.count)
    ]


def _model(nodes: Sequence[Node], like: str | None) -> Node:
    """A node by its name, with or without its compute; KeyError if there is none."""
    if like is not None:
        for node in nodes:
            if like in (node.id, node.id.partition("/")[2]):
                return node
        raise KeyError(like)
    if not nodes:
        raise KeyError("")
    return max(nodes, key=lambda node: (node.gpus, node.cpu, node.memory, node.id))


def _also_in(wanted: Pending, zones: Collection[str]) -> Pending:
    """New sites have no data yet: they cost a job as much as the dearest place it may run in now."""
    if wanted.places is None or not zones:
        return wanted
    cost = max((place.cost for place in wanted.places), default=0)
    return replace(wanted, places=(*wanted.places, *(Place(zone, cost) for zone in sorted(zones))))


def _cluster(outcome: Outcome, arrivals: Sequence[Arrival]) -> ReplayedCluster:
    own = _replayed(outcome, arrivals)
    return ReplayedCluster(
        own.jobs, own.started, own.mean_wait, own.p95_wait, own.preemptions, own.gpu_hours,
        outcome.goodput, outcome.lost_share, outcome.max_preemptions, outcome.seconds,
    )  # fmt: skip


def _replayed(outcome: Outcome, arrivals: Sequence[Arrival]) -> Replayed:
    jobs = [one.pending.job for one in arrivals]
    waits = sorted(outcome.waits[job.id] for job in jobs if job.id in outcome.waits)
    return Replayed(
        jobs=len(jobs),
        started=len(waits),
        mean_wait=sum(waits) / len(waits) if waits else 0.0,
        p95_wait=waits[int(0.95 * (len(waits) - 1))] if waits else 0.0,
        preemptions=sum(outcome.stops.get(job.id, 0) for job in jobs),
        gpu_hours=sum(outcome.kept.get(project, 0.0) for project in {job.project for job in jobs}) / 3600,
    )
