"""How far the content of a commit was read back from the lake and checked, from what is known of its packs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from millpond.db import blobs, uploads
from millpond.db.uploads import Pack
from millpond.model.dataset import Commit, Dataset
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps


@dataclass(frozen=True, slots=True)
class Verification:
    """How far the packs that a commit rests on were read back and every digest in them checked."""

    commit: str
    packs: int
    bytes: int
    verified_packs: int
    verified_bytes: int
    verified_at: datetime | None
    problems: Sequence[str]


def verification(deps: Deps, dataset: Dataset, commit: Commit) -> Verification:
    """Only index pages are read: a commit of a million files takes some milliseconds."""
    leaves = [leaf.id for leaf in reader_of(deps, dataset, commit).leaves()]
    with deps.db.read() as tx:
        needed = set(chain.from_iterable(blobs.packs_of_pages(tx, dataset.project_id, leaves).values()))
        packs = uploads.packs(tx, dataset.project_id, needed)
    checked = [pack for pack in packs if _is_verified(pack)]
    return Verification(
        commit=commit.id,
        packs=len(packs),
        bytes=sum(pack.bytes for pack in packs),
        verified_packs=len(checked),
        verified_bytes=sum(pack.bytes for pack in checked),
        verified_at=max((pack.verified_at for pack in checked if pack.verified_at), default=None),
        problems=[pack.problem for pack in packs if pack.problem],
    )


def _is_verified(pack: Pack) -> bool:
    return pack.verified_at is not None and pack.problem is None
