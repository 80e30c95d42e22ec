"""Free resources of a node while a plan is made, and why a job does not fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from millpond.decide.computes import WHOLE, NodeView
from millpond.model.job_spec import Resources
from millpond.model.quantity import format_bytes, format_count, format_gpus

# Jobs that reserve nothing still cost processes: the one limit on how many of them a node gets.
MAX_JOBS_PER_NODE = 256


@dataclass(slots=True)
class NodeRoom:
    """Free resources of a node while a plan is made."""

    node: NodeView
    cpu: int = 0
    memory_bytes: int = 0
    jobs: int = 0
    gpus: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cpu, self.memory_bytes = self.node.cpus, self.node.memory_bytes
        self.gpus = [WHOLE] * self.node.gpus
        for held in self.node.held:
            self.hold(held.resources, held.gpu_indices)

    def take(self, resources: Resources) -> tuple[int, ...]:
        indices = self.pick_gpus(resources.gpu_hundredths)
        assert indices is not None, "a job is placed only where it fits"
        self.hold(resources, indices)
        return indices

    def pick_gpus(self, hundredths: int) -> tuple[int, ...] | None:
        """Choose GPUs: whole ones by lowest number; a fraction where it leaves the least free."""
        whole, part = divmod(hundredths, WHOLE)
        free = [index for index, left in enumerate(self.gpus) if left == WHOLE]
        if len(free) < whole:
            return None
        chosen = free[:whole]
        if not part:
            return tuple(chosen)
        partly = [(left, index) for index, left in enumerate(self.gpus) if left >= part and index not in chosen]
        return (*chosen, min(partly)[1]) if partly else None

    def lacks(self, resources: Resources) -> str | None:
        """Why the job does not fit now; None if it fits."""
        where = self.node.written
        if self.jobs >= MAX_JOBS_PER_NODE:
            return f"{where} already runs {format_count(self.jobs, 'job')}, the maximum per node."
        if resources.gpu_hundredths and self.pick_gpus(resources.gpu_hundredths) is None:
            asked, free = format_gpus(resources.gpu_hundredths), format_gpus(sum(self.gpus))
            return f"{where} has {free} of {format_count(self.node.gpus, 'GPU')} free; {asked} requested."
        if resources.cpu > self.cpu:
            return (
                f"{where} has {max(0, self.cpu)} of {format_count(self.node.cpus, 'CPU')} free; "
                f"{resources.cpu} requested."
            )
        if resources.memory_bytes > self.memory_bytes:
            free, total = format_bytes(max(0, self.memory_bytes)), format_bytes(self.node.memory_bytes)
            return f"{where} has {free} of {total} memory free; {format_bytes(resources.memory_bytes)} requested."
        return None

    def hold(self, resources: Resources, indices: tuple[int, ...]) -> None:
        self.jobs += 1
        self.cpu -= resources.cpu
        self.memory_bytes -= resources.memory_bytes
        left = resources.gpu_hundredths
        for index in indices:
            share = min(left, WHOLE)
            left -= share
            if index < len(self.gpus):  # a node may have come back with fewer GPUs than it had
                self.gpus[index] = max(0, self.gpus[index] - share)

    def has_free(self, hundredths: int, indices: tuple[int, ...]) -> bool:
        """True if these GPUs have that much free."""
        whole = hundredths // WHOLE
        asked = [WHOLE if number < whole else hundredths % WHOLE for number in range(len(indices))]
        return all(
            index < len(self.gpus) and self.gpus[index] >= share for index, share in zip(indices, asked, strict=True)
        )
