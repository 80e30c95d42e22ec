"""Workspaces on a volume: writable trees, their snapshots and clones (docs/design/028-workspaces.md)."""
