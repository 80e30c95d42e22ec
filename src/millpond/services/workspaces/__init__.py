"""Workspaces: writable trees on volumes, with snapshots (docs/design/028)."""
