"""Jobs as plain processes on the agent's own machine."""

from millpond.agent.drivers.choose import AgentMachine
from millpond.agent.drivers.options import Given, Options, checked
from millpond.agent.drivers.process.driver import ProcessDriver

__all__ = ["ProcessDriver", "open_driver"]


class ProcessOptions(Options):
    """None so far."""


def open_driver(machine: AgentMachine, options: Given) -> ProcessDriver:
    checked(ProcessOptions, options, "process")
    return ProcessDriver([machine.node], machine.isolation)
