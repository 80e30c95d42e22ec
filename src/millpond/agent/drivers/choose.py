"""Opening a driver by its name; only the chosen one, and the libraries it needs, is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from millpond.agent.drivers import Driver
from millpond.agent.drivers.options import Given
from millpond.agent.isolation import Isolation
from millpond.errors import BadRequest
from millpond.wire.observed import NodeFacts

# Each of these packages has `open_driver(machine, options)`.
DRIVERS = {
    "process": "millpond.agent.drivers.process",
    "kubernetes": "millpond.agent.drivers.kubernetes",
    "slurm": "millpond.agent.drivers.slurm",
    "podman": "millpond.agent.drivers.podman",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the agent itself runs: what a driver without a cluster runs jobs on, where placements lie, and how far
    jobs can be kept apart there."""

    node: NodeFacts
    state_dir: Path
    isolation: Isolation = field(default_factory=Isolation)


def open_driver(name: str, machine: Machine, options: Given) -> Driver:
    """Raises BadRequest for what was told wrongly, SetupError when the engine cannot be used from here."""
    if name not in DRIVERS:
        raise BadRequest(f"There is no driver {name!r}.", hint=f"Choose one of: {', '.join(DRIVERS)}.")
    opened: Driver = import_module(DRIVERS[name]).open_driver(machine, options)
    return opened
