"""Jobs on a Slurm cluster: every placement is a batch job whose process is the keeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millpond.agent.drivers.options import Given, checked
from millpond.agent.drivers.slurm.commands import Commands
from millpond.agent.drivers.slurm.driver import SlurmDriver
from millpond.agent.drivers.slurm.options import SlurmOptions
from millpond.agent.drivers.slurm.sharing import check_sharing

if TYPE_CHECKING:
    from millpond.agent.drivers.choose import AgentMachine

__all__ = ["SlurmDriver", "SlurmOptions", "open_driver"]


def open_driver(machine: AgentMachine, options: Given) -> SlurmDriver:
    """SetupError without Slurm's programs, or when a node was seen not to share the agent's state directory."""
    chosen = checked(SlurmOptions, options, "slurm")
    commands = Commands()
    commands.check_installed()
    check_sharing(machine.state_dir, commands, chosen)
    return SlurmDriver(machine.state_dir, chosen, commands, machine.isolation)
