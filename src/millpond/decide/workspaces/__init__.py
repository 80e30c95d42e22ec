"""Decisions about workspaces: how one is cloned, which snapshots go."""
