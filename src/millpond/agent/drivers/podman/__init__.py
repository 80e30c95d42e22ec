"""Jobs in containers on the agent's own machine, by Podman; those that name no image run as plain processes."""

from __future__ import annotations

from millpond.agent.drivers.choose import AgentMachine
from millpond.agent.drivers.options import Given, checked
from millpond.agent.drivers.podman.commands import Podman
from millpond.agent.drivers.podman.driver import PodmanDriver
from millpond.agent.drivers.podman.options import PodmanOptions

__all__ = ["PodmanDriver", "PodmanOptions", "open_driver"]


def open_driver(machine: AgentMachine, options: Given) -> PodmanDriver:
    """SetupError where there is no Podman, or one that does not work."""
    chosen = checked(PodmanOptions, options, "podman")
    podman = Podman(chosen)
    podman.check()
    return PodmanDriver(machine, chosen, podman)
