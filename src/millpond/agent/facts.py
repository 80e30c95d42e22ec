"""Capacity of this machine: measured, or declared on the command line."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.keeper.clock import boot_id
from millpond.wire.observed import NodeFacts

log = logging.getLogger(__name__)

__all__ = ["Declared", "boot_id", "node_facts"]

_CGROUP_MEMORY = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True)
class Declared:
    """Values given on the command line; None means measured."""

    cpus: int | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    gpu_type: str | None = None
    gpu_memory_bytes: int | None = None

    @property
    def any(self) -> bool:
        told = (self.cpus, self.memory_bytes, self.gpus, self.gpu_type, self.gpu_memory_bytes)
        return any(one is not None for one in told)


def node_facts(name: str, declared: Declared, labels: Mapping[str, str] | None = None) -> NodeFacts:
    measured_gpus, model, gpu_memory = measure_gpus()
    return NodeFacts(
        name=name,
        cpus=declared.cpus if declared.cpus is not None else len(os.sched_getaffinity(0)),
        memory_bytes=declared.memory_bytes if declared.memory_bytes is not None else measure_memory(),
        gpus=declared.gpus if declared.gpus is not None else measured_gpus,
        gpu_model=declared.gpu_type or model or ("declared" if declared.gpus else ""),
        gpu_memory_bytes=declared.gpu_memory_bytes if declared.gpu_memory_bytes is not None else gpu_memory,
        declared=declared.any,
        labels=dict(labels or {}),
    )


def measure_memory() -> int:
    """The machine's memory, or what the container around this process may use of it."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [text.strip() for path in _CGROUP_MEMORY if (text := _read(path))]
    return min([machine, *(int(text) for text in limits if text.isdigit())])


def measure_gpus() -> tuple[int, str, int]:
    """How many GPUs the driver shows, the model of the first and its memory; (0, "", 0) without one."""
    if not Path("/proc/driver/nvidia").exists():
        return 0, "", 0
    # Imported only where there is a GPU: the bindings take megabytes that every other agent saves.
    import pynvml  # noqa: PLC0415

    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        first = pynvml.nvmlDeviceGetHandleByIndex(0) if count else None
        model = pynvml.nvmlDeviceGetName(first) if count else ""
        memory = int(pynvml.nvmlDeviceGetMemoryInfo(first).total) if count else 0
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        log.warning("cannot count GPUs: %s", error)
        return 0, "", 0
    return count, model if isinstance(model, str) else model.decode(), memory


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
