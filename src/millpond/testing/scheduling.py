"""A cluster that follows plans at once, for tests of the scheduler: submit, delete, settle, look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import plan
from millpond.decide.scheduling.snapshot import (
    WHOLE,
    Job,
    Node,
    Pending,
    Project,
    Reservation,
    Running,
    Size,
    Snapshot,
)


def a_project(name: str, quota: float = 0, **more: object) -> Project:
    return Project(name, {"": round(quota * WHOLE)}, **more)  # type: ignore[arg-type]


def a_gpu_node(name: str, gpus: int = 8, **more: object) -> Node:
    values: dict[str, object] = {"compute": name, "cpu": 64, "memory": 256 * 10**9}
    return Node(name, gpus=gpus, **(values | more))  # type: ignore[arg-type]


def a_pending(name: str, project: str, gpus: float = 1, **more: object) -> Pending:
    """Of a gang, `gpus` is what each process takes."""
    size = Size(
        gpu=round(gpus * WHOLE),
        cpu=int(str(more.pop("cpu", 0))),
        memory=int(str(more.pop("memory", 0))),
        processes=int(str(more.pop("processes", 0))),
    )
    asked = {key: more.pop(key) for key in ("places", "requires", "held", "over_quota_from") if key in more}
    return Pending(Job(name, project, size, **more), **asked)  # type: ignore[arg-type]


@dataclass
class Cluster:
    """Victims take their time to end: until `end_victims` they are neither running nor pending, and the jobs they end
    for are nominated. A preempted job waits again with its first submission."""

    nodes: tuple[Node, ...]
    projects: tuple[Project, ...]
    now: float = 1_000_000.0
    running: dict[str, Running] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)
    reservations: tuple[Reservation, ...] = ()
    rebalance: bool = True
    preempted: list[str] = field(default_factory=list)
    # Victims that have not ended yet.
    ending: dict[str, Running] = field(default_factory=dict)
    _wanted: dict[str, Pending] = field(default_factory=dict)

    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.now, self.nodes, self.projects, tuple(self.running.values()), tuple(self.pending.values()),
            self.reservations, self.rebalance, tuple(self.ending.values()),
        )  # fmt: skip

    def submit(self, *jobs: Pending) -> Plan:
        """One after the other, a second apart, each followed by a plan; the last of these."""
        made = Plan()
        for one in jobs:
            self.now += 1
            self.pending[one.job.id] = replace(one, job=replace(one.job, submitted=self.now))
            made = self.settle()
        return made

    def delete(self, *names: str) -> None:
        for name in names:
            self.running.pop(name, None)
            self.pending.pop(name, None)

    def settle(self) -> Plan:
        """Plan, follow the plan, and let its victims end at once."""
        made = plan(self.snapshot())
        self.follow(made)
        self.end_victims()
        return made

    def follow(self, made: Plan) -> None:
        for stop in made.preemptions:
            self.ending[stop.job] = self.running.pop(stop.job)
            self.preempted.append(stop.job)
        for start in made.starts:
            wanted = self._wanted[start.job] = self.pending.pop(start.job)
            nominated = bool(start.victims)
            self.running[start.job] = Running(wanted.job, start.seats, started=self.now, nominated=nominated)
        self.reservations = made.reservations

    def end_victims(self) -> None:
        """Victims have ended: they wait again, and whoever was nominated runs."""
        self.pending |= {name: self._wanted[name] for name in self.ending}
        self.ending = {}
        for name, one in self.running.items():
            self.running[name] = replace(one, nominated=False)

    def run(self, wanted: Iterable[tuple[Pending, Running]]) -> None:
        """Let jobs run that nobody planned."""
        for pending, running in wanted:
            self._wanted[pending.job.id] = pending
            self.running[pending.job.id] = running

    def allocated(self) -> Mapping[str, float]:
        found = {project.name: 0 for project in self.projects}
        for one in self.running.values():
            found[one.job.project] += one.job.size.gpus
        return {name: hundredths / WHOLE for name, hundredths in found.items()}
