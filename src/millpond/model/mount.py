"""Mounts: directories outside the cache that an administrator lets jobs of a project read and write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from millpond.errors import Invalid

# What a container engine and a mount table can hold: no commas, no control characters.
_PATH = re.compile(r"(?:/[A-Za-z0-9_.@+ -]+)+")
# A job that could replace these would run its own code as somebody else.
_SYSTEM = frozenset({"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr", "var"})


@dataclass(frozen=True, slots=True)
class SharedMount:
    """A directory that jobs may mount by its name or path. `site` is where it exists; None: everywhere."""

    id: str
    name: str
    path: str
    site_id: str | None
    site: str | None
    read_only: bool
    # Every project may use it, or those with these ids.
    all_projects: bool
    project_ids: frozenset[str]
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str

    def allows(self, project_id: str) -> bool:
        return self.all_projects or project_id in self.project_ids


def checked_path(path: str, what: str) -> str:
    """A plain absolute path. Raises Invalid."""
    plain = path.rstrip("/")
    if len(path) > 1000 or not _PATH.fullmatch(plain) or {".", ".."} & set(PurePosixPath(plain).parts):
        raise Invalid(f"{path[:200]!r} is not a plain absolute path.", hint="Write it like /mnt/shared.", fields=[what])
    return plain


def checked_target(path: str) -> str:
    """Where a job may see a mount: not in place of the system. Raises Invalid."""
    plain = checked_path(path, "mounts")
    if PurePosixPath(plain).parts[1] in _SYSTEM:
        raise Invalid(f"Cannot mount at {plain}: it belongs to the system.", hint="Choose another, like /workspace.")
    return plain


def workspace_variable(name: str) -> str:
    """The environment variable that holds the path of a workspace: `notes` is `MILL_WORKSPACE_NOTES`."""
    return "MILL_WORKSPACE_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def mount_variable(name: str) -> str:
    """The environment variable that holds the path of a mount: `team-a` is `MILL_MOUNT_TEAM_A`."""
    return "MILL_MOUNT_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
