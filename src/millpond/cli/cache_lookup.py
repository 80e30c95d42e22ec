"""What the commands about cached commits share: how one is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from millpond.cli.cache_arguments import name_of
from millpond.cli.session import Session
from millpond.client.caches import list_cached
from millpond.client.datasets import get_commit
from millpond.errors import NotFound
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.quantity import LONGEST_IDLE, parse_seconds
from millpond.wire.cache import CachedCommit


def list_found(mill: Session, written: str | None, on: str | None) -> Iterator[CachedCommit]:
    """All that is cached; of a dataset, or of one commit, if that is named."""
    ref = DatasetRef.parse_commit(written) if written else None
    if ref is None or ref.ref is None:
        project = (ref.project if ref else None) or mill.flags.project
        return list_cached(mill.api, project=project, dataset=ref.dataset if ref else None, volume=on)
    project = ref.project or mill.project
    commit = get_commit(mill.api, project, ref.dataset, ref.ref).id
    listed = list_cached(mill.api, project=project, dataset=ref.dataset, volume=on)
    return (cached for cached in listed if cached.commit_id == commit)


def find_cached(mill: Session, written: str, on: str | None, *, every: bool = False) -> list[CachedCommit]:
    """Where the commit is cached, on each volume or on one; `every` means all commits of the dataset."""
    ref = DatasetRef.parse_commit(written)
    project = ref.project or mill.project
    try:
        commit = None if every else get_commit(mill.api, project, ref.dataset, ref.ref or DEFAULT_BRANCH).id
        listed = list(list_cached(mill.api, project=project, dataset=ref.dataset, volume=on))
    except NotFound:
        if left := _leaving(mill, project, ref, on):
            return left
        raise
    found = [c for c in listed if commit in (None, c.commit_id)]
    if not found:
        where = f" on volume {on}" if on else ""
        others = ", ".join(sorted({name_of(c) for c in listed}))
        hint = f"Cached commits of it: {others}" if others else "List cached commits: mill cache list"
        raise NotFound(f"{written} is not cached{where}.", hint=hint)
    return found


def _leaving(mill: Session, project: str, ref: DatasetRef, on: str | None) -> list[CachedCommit]:
    """Cached commits of a deleted dataset: their holders may want to release them."""
    return [
        cached
        for cached in list_cached(mill.api, project=project, volume=on)
        if cached.leaving and cached.dataset == ref.dataset and cached.commit_id.startswith(ref.ref or "")
    ]


def idle_of(text: str) -> int | Literal["default"]:
    """An idle time as people write it: `8h`, or `default` for that of whatever it belongs to."""
    return "default" if text == "default" else parse_seconds(text, least=1, most=LONGEST_IDLE)
