"""What keeps commits on a volume without anybody using them: policies for branches, and mirrors."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from millpond.db import mirrors, policies


def kept_on(tx: Connection, volume_id: str) -> Mapping[str, str]:
    """By commit, the branch that it is kept as the newest of, or the mirror that keeps it, as `mirror NAME`."""
    by_mirrors = {commit_id: f"mirror {name}" for commit_id, name in mirrors.kept_on(tx, volume_id).items()}
    return by_mirrors | dict(policies.kept_on(tx, volume_id))
