"""Removes from a replica what the lake no longer has, and compares the two.

Never earlier than the lake: an object goes if neither the database knows of it nor the lake has it. A lake that was
lost takes nothing along, because the database still knows what it held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger

from millpond.db import lake_replica_content as replica_content
from millpond.db import lake_replicas as replicas
from millpond.db.batches import batches
from millpond.errors import StoreUnavailable
from millpond.lake.keys import PROJECTS, ProjectKeys
from millpond.model.lake_replica import LakeReplica
from millpond.services.deps import Deps
from millpond.services.lake.replicas.turn import Turn, turn_of

logger = getLogger(__name__)

_EVERY = timedelta(days=1)
_AT_ONCE = 1000
_NAMED = 20


@dataclass(frozen=True, slots=True)
class ReplicaChecked:
    """What a comparison found: objects that should be there, those that are not or have another size, and others.

    `examples` are some of the keys that are wrong; all of them are copied again.
    """

    objects: int
    missing: int
    wrong: int
    extra: int
    examples: Sequence[str]


def is_due(deps: Deps, replica: LakeReplica, now: datetime) -> bool:
    return replica.cleaned_at is None or now - replica.cleaned_at >= _EVERY


def clean(turn: Turn) -> int:
    """Remove what the lake no longer has; how many objects."""
    removed = 0
    for batch in batches(turn.store.list(PROJECTS), _AT_ONCE):
        unknown = list(_unknown(turn.deps, [info.key for info in batch]))
        if unknown:
            turn.check_ours()
        for key in unknown:
            if turn.deps.store.head(key) is None:
                turn.delete(key)
                removed += 1
    with turn.deps.db.write() as tx:
        replicas.change(tx, turn.replica.id, cleaned_at=turn.deps.clock.now())
    if removed:
        logger.info("replica_cleaned replica=%s objects=%d", turn.replica.name, removed)
    return removed


def check(deps: Deps, replica: LakeReplica) -> ReplicaChecked:
    """Hold what the replica has against what it should have, by keys and sizes. What is wrong is copied again.

    NotReady while a server works on it.
    """
    with turn_of(deps, replica) as turn:
        with deps.db.read() as tx:
            packs = replica_content.held_packs(tx, replica.id)
            pages = replica_content.held_pages(tx, replica.id)
            commits = replica_content.held_commits(tx, replica.id)
        expected: dict[str, int | None] = {ProjectKeys(one).pack(pack): size for (one, pack), size in packs.items()}
        expected |= {ProjectKeys(one).page(page): None for one, page in pages}
        expected |= {ProjectKeys(one).commit(commit): None for one, commit in commits}
        total, extra, wrong = len(expected), 0, []
        for info in turn.store.list(PROJECTS):
            turn.keep()
            parts = _parts(info.key)
            if info.key in expected:
                if expected.pop(info.key) not in (None, info.size):
                    wrong.append(info.key)
            elif parts is not None and parts[1] in ("packs", "pages", "commits"):
                extra += 1
        if total and len(expected) == total:
            raise StoreUnavailable(f"Replica {replica.name!r} shows none of its objects.", hint="Check its bucket.")
        _forget(turn, [*expected, *wrong])
    deps.events.wake("branches")
    examples = sorted([*expected, *wrong])[:_NAMED]
    return ReplicaChecked(total, len(expected), len(wrong), extra, examples)


def _forget(turn: Turn, wrong: Sequence[str]) -> None:
    """The replica does not hold these, nor any commit that may need them: the next round copies what is missing."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key in wrong:
        if (parts := _parts(key)) is not None:
            found[parts[0]][parts[1]].append(parts[2])
    for project_id, kinds in found.items():
        with turn.deps.db.write() as tx:
            replica_content.forget_packs(tx, turn.replica.id, kinds["packs"])
            replica_content.forget_page_rows(tx, turn.replica.id, project_id, kinds["pages"])
            replica_content.forget_commits(tx, project_id, turn.replica.id)


def _unknown(deps: Deps, found: Sequence[str]) -> Iterator[str]:
    groups: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key in found:
        if (parts := _parts(key)) is not None:
            groups[parts[0], parts[1]][parts[2]].append(key)
    for (project_id, kind), keys in groups.items():
        with deps.db.read() as tx:
            known = replica_content.known_objects(tx, kind, project_id, list(keys))
        for identifier in keys.keys() - known:
            yield from keys[identifier]


def _parts(key: str) -> tuple[str, str, str] | None:
    """Project, kind and id; None for what is copied by nobody."""
    parts = key.split("/")
    if len(parts) != 5 or parts[2] not in ("packs", "pages", "locators", "commits", "datasets"):
        return None
    return parts[1], parts[2], parts[3] if parts[2] == "datasets" else parts[4]
