"""How many workers a cluster wants, and which of them start or go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from millpond.errors import Invalid
from millpond.model.cluster import (
    MAX_WORKERS,
    ClusterAdapt,
    ClusterDemand,
    ClusterProcess,
    ClusterProcessState,
    ClusterSpec,
    WorkerLoad,
)
from millpond.model.quantity import format_count

# Fewer workers only when the scheduler has asked for fewer all this time: starting one takes seconds.
FEWER_AFTER = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class WantedWorkers:
    """`fewer_since`: since when the scheduler has asked for fewer than these."""

    count: int
    reason: str
    fewer_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    start: int = 0
    # Ids of those that go, with the reason of each.
    retire: Mapping[str, str] = field(default_factory=dict)


def check_workers(workers: int, adapt: ClusterAdapt | None) -> None:
    """Invalid for numbers that cannot be kept to."""
    if adapt is not None and adapt.min > adapt.max:
        raise Invalid(
            f"Cannot adapt from {adapt.min} to {adapt.max} workers: the minimum is more than the maximum.",
            hint=f"Write the smaller number first: --adapt {adapt.max}:{adapt.min}", fields=["adapt"],
        )  # fmt: skip
    asked = (workers,) if adapt is None else (adapt.min, adapt.max)
    if min(asked) < 0 or max(asked) > MAX_WORKERS or (adapt is not None and adapt.max < 1):
        raise Invalid(f"A cluster has 1 to {MAX_WORKERS} workers.", fields=["workers", "adapt"])


def at_first(spec: ClusterSpec) -> WantedWorkers:
    """Before the scheduler has said anything."""
    if spec.adapt is None:
        return WantedWorkers(spec.workers, f"{format_count(spec.workers, 'worker')} requested.")
    count = _within(spec.adapt, spec.workers)
    return WantedWorkers(count, f"At first {format_count(count, 'worker')}, then as the scheduler asks.")


def wanted_workers(
    spec: ClusterSpec, before: WantedWorkers, demand: ClusterDemand | None, now: datetime
) -> WantedWorkers:
    """More at once, fewer after a while. While the scheduler says nothing, as many as before."""
    if spec.adapt is None:
        return at_first(spec)
    if demand is None:
        return WantedWorkers(_within(spec.adapt, before.count), before.reason)
    target = _within(spec.adapt, demand.desired)
    if target == before.count:
        return WantedWorkers(before.count, before.reason)
    if target > before.count or before.count > spec.adapt.max:
        return WantedWorkers(target, _why(spec.adapt, demand, target))
    since = before.fewer_since or now
    if now - since < FEWER_AFTER:
        return WantedWorkers(before.count, before.reason, since)
    return WantedWorkers(target, _why(spec.adapt, demand, target))


def plan_workers(
    wanted: int, here: Sequence[ClusterProcess], loads: Mapping[str, WorkerLoad], why: str = ""
) -> WorkerPlan:
    """Those that have not joined yet go first, then idle ones with the fewest results, the youngest before others."""
    living = [one for one in here if one.state in (ClusterProcessState.STARTING, ClusterProcessState.READY)]
    if len(living) <= wanted:
        return WorkerPlan(start=wanted - len(living))

    def cost(one: ClusterProcess) -> tuple[bool, int, int, float]:
        load = loads.get(one.job_name, WorkerLoad())
        return (
            one.state is ClusterProcessState.READY,
            load.tasks,
            load.bytes,
            -one.created_at.timestamp(),
        )

    going = sorted(living, key=cost)[: len(living) - wanted]
    return WorkerPlan(retire={one.id: _why_this(one, loads.get(one.job_name), why) for one in going})


def _why_this(one: ClusterProcess, load: WorkerLoad | None, why: str) -> str:
    if one.state is ClusterProcessState.STARTING:
        has = "it had not joined yet"
    elif load is None or not (load.tasks or load.bytes):
        has = "it was idle"
    else:
        has = f"of all it had the least to do ({format_count(load.tasks, 'task')})"
    return f"Worker {one.job_name} retires: {has}. {why}".strip()


def _why(adapt: ClusterAdapt, demand: ClusterDemand, target: int) -> str:
    asked = f"The scheduler asks for {format_count(demand.desired, 'worker')}"
    tasks = f" for {format_count(demand.tasks, 'task')}" if demand.tasks else ""
    bound = ""
    if demand.desired != target:
        bound = f"; at most {adapt.max}" if demand.desired > target else f"; at least {adapt.min}"
    return f"{asked}{tasks}{bound}."


def _within(adapt: ClusterAdapt, count: int) -> int:
    return min(max(count, adapt.min), adapt.max)
