"""The document's matrix: scenarios × one or two servers × local or shared files × protocols."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millpond.model.mlperf import MEASURES, Scenario
from millpond.perf.measuring import Outcome, measure
from millpond.perf.plan import LoadPlan
from millpond.perf.servers import MeasuredServer, started_servers

# Served as it is, by servers that run already.
AS_IS = "as is"


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the matrix."""

    scenario: Scenario
    servers: int
    storage: str
    protocol: str


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    cell: Cell
    outcome: Outcome
    # Until each server was ready, its files read from this storage; the slowest one's. None where it ran before.
    ready_seconds: float | None
    # Processor time of the servers while they were measured. None for servers elsewhere.
    server_cpu_seconds: float | None

    @property
    def client_cpu_seconds(self) -> float:
        return sum(run.client_cpu_seconds for run in self.outcome.runs)

    def to_document(self) -> dict[str, Any]:
        measure = MEASURES[self.cell.scenario]
        return {
            "scenario": self.cell.scenario.value,
            "servers": self.cell.servers,
            "storage": self.cell.storage,
            "protocol": self.cell.protocol,
            "value": self.outcome.value,
            "unit": measure.unit,
            "valid": self.outcome.is_valid,
            "reason": self.outcome.reason,
            "p50_ms": _slowest(run.p50_ms for run in self.outcome.runs),
            "p90_ms": _slowest(run.p90_ms for run in self.outcome.runs),
            "p99_ms": _slowest(run.p99_ms for run in self.outcome.runs),
            "ready_seconds": self.ready_seconds,
            "server_cpu_seconds": self.server_cpu_seconds,
            "client_cpu_seconds": self.client_cpu_seconds,
            "load_seconds": max((run.load_seconds for run in self.outcome.runs), default=0.0),
            "seconds": max((run.seconds for run in self.outcome.runs), default=0.0),
        }


@dataclass(frozen=True, slots=True)
class Matrix:
    """What to measure. `storages` are folders with the model's files by name, and with samples, if there are any."""

    scenarios: Sequence[Scenario]
    servers: Sequence[int]
    storages: Mapping[str, Path]
    protocols: Sequence[str]
    plan: LoadPlan
    scratch: Path

    def measured(self, tell: Callable[[str], None]) -> Iterator[MeasuredCell]:
        """Each cell as it is measured. The servers of one storage and number serve all its scenarios."""
        for storage, folder in self.storages.items():
            for count in self.servers:
                with started_servers(self.plan.model, folder, count, self.scratch) as servers:
                    yield from self._cells(servers, storage, tell)

    def measured_as_is(self, server: MeasuredServer, tell: Callable[[str], None]) -> Iterator[MeasuredCell]:
        """The same against a server that runs already."""
        yield from self._cells([server], AS_IS, tell)

    def _cells(
        self, servers: Sequence[MeasuredServer], storage: str, tell: Callable[[str], None]
    ) -> Iterator[MeasuredCell]:
        for protocol in self.protocols:
            for scenario in self.scenarios:
                cell = Cell(scenario, len(servers), storage, protocol)
                tell(f"{MEASURES[scenario].title}, {len(servers)} × {storage}, {protocol}")
                name = f"{scenario.value}-{len(servers)}-{storage.replace(' ', '-')}-{protocol}"
                plan = replace(
                    self.plan, scenario=scenario, protocol=protocol, folder=str(self.scratch / "loadgen" / name)
                )
                before = _cpu(servers)
                outcome = measure(plan, servers)
                after = _cpu(servers)
                used = None if before is None or after is None else after - before
                ready = _slowest(server.ready_seconds for server in servers)
                yield MeasuredCell(cell, outcome, ready, used)


@contextmanager
def copied(folder: Path, scratch: Path) -> Iterator[Path]:
    """A copy of the model's files on the disk of `scratch`."""
    target = scratch / "local"
    shutil.copytree(folder, target)
    try:
        yield target
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _cpu(servers: Sequence[MeasuredServer]) -> float | None:
    """Processor seconds that the servers have used so far."""
    total = 0.0
    for server in servers:
        if server.pid is None:
            return None
        total += _process_seconds(server.pid)
    return total


def _process_seconds(pid: int) -> float:
    import psutil  # noqa: PLC0415 - loaded by those who measure

    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


def _slowest(values: Iterator[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return max(found) if found else None
