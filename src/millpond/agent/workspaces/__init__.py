"""Workspaces of the volumes that this agent tends: brought to what the server wants, and told."""

from millpond.agent.workspaces.workspaces import OnClaims, WorkspaceLake, Workspaces

__all__ = ["OnClaims", "WorkspaceLake", "Workspaces"]
