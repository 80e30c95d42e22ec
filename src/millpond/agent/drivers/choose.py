"""Opening a driver by its name; only the chosen one, and the libraries it needs, is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from millpond import plugins
from millpond.agent.drivers import Driver
from millpond.agent.drivers.options import Given
from millpond.agent.isolation import Isolation
from millpond.errors import BadRequest
from millpond.wire.observed import NodeFacts


@dataclass(frozen=True, slots=True)
class AgentMachine:
    """Where the agent itself runs: what a driver without a cluster runs jobs on, where placements lie, and how far
    jobs can be kept apart there."""

    node: NodeFacts
    state_dir: Path
    isolation: Isolation = field(default_factory=Isolation)


def open_driver(name: str, machine: AgentMachine, options: Given) -> Driver:
    """Raises BadRequest for an unknown driver or option, SetupError when the engine cannot be used from here."""
    known = plugins.names(plugins.DRIVERS)
    if name not in known:
        raise BadRequest(
            f"Unknown driver {name!r}.",
            hint=f"Choose one of: {', '.join(known)}. Plug-in packages offer others.",
        )
    opened: Driver = plugins.load(plugins.DRIVERS, name)(machine, options)
    return opened
