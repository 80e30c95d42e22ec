"""Workspaces of the volumes that this agent tends: brought to what the server wants, and told."""

from millpond.agent.workspaces.workspaces import WorkspaceLake, Workspaces

__all__ = ["WorkspaceLake", "Workspaces"]
