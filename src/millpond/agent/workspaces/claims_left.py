"""What interrupted attempts at workspaces have left on a cluster: found by label, removed if no document names it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millpond.agent.drivers.claims import Claims, Named
from millpond.volumes.volume import CacheVolume
from millpond.volumes.workspaces.layout import (
    WorkspaceFolder,
    leftovers,
    read_document,
    read_workspace,
    snapshot_documents,
    workspaces,
)

# In the directory of a workspace: what a program that runs just now is told.
RUN = ".run-"
VOLUME, WORKSPACE = "millpond.dev/volume", "millpond.dev/workspace"


class LiveNames:
    """What this agent is making just now: no document names it yet. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[Named, int] = {}

    def add(self, name: Named) -> None:
        with self._lock:
            self._names[name] = threading.get_ident()

    @contextmanager
    def held(self) -> Iterator[None]:
        """What this thread adds is live until the block ends."""
        try:
            yield
        finally:
            with self._lock:
                own = threading.get_ident()
                self._names = {name: thread for name, thread in self._names.items() if thread != own}

    def all(self) -> set[Named]:
        with self._lock:
            return set(self._names)


def labels_of(folder: WorkspaceFolder) -> dict[str, str]:
    """Of everything on the cluster that belongs to a workspace."""
    return {VOLUME: folder.volume.id, WORKSPACE: folder.id}


def sweep(
    claims: Claims, volume: CacheVolume, spaces: Collection[str], labels: Mapping[str, str], live: LiveNames
) -> list[Named]:  # fmt: skip
    """Remove what has these labels and is in no document of the volume; what that was."""
    found = [one for space in sorted(spaces) for one in claims.listed(space, {**labels, VOLUME: volume.id})]
    if not found:
        return []
    # Read in this order: what is made meanwhile is live before it is named, and named before it is no longer live.
    busy = live.all()
    known = _named(volume)
    left = [one for one in found if one not in busy and one not in known]
    for one in left:
        claims.remove(one)
    return left


def runs_left(volume: CacheVolume) -> list[Path]:
    """What programs were told, while none of this agent's runs."""
    return [path for folder in workspaces(volume) for path in folder.path.glob(f"{RUN}*")]


def spaces_of(claims: Claims, volume: CacheVolume) -> set[str]:
    """Where claims of the volume's workspaces may be."""
    found = set(claims.spaces())
    for project in (volume.root / "workspaces").glob("*"):
        for path in [*project.glob("[!.]*"), *leftovers(project)]:
            document = read_document(path)
            if document is not None and document.claim_space:
                found.add(document.claim_space)
    return found


def _named(volume: CacheVolume) -> set[Named]:
    named: set[Named] = set()
    for folder in workspaces(volume):
        document = read_workspace(folder)
        if document is None or not document.claim:
            continue
        named.add(Named("claim", document.claim_space, document.claim))
        for one in snapshot_documents(folder.path):
            if one.volume_snapshot:
                named.add(Named("snapshot", document.claim_space, one.volume_snapshot))
    return named
