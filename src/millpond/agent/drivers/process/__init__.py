"""Jobs as plain processes on the agent's own machine."""

from millpond.agent.drivers.process.driver import ProcessDriver

__all__ = ["ProcessDriver"]
