"""Reserves the size of workspaces on volumes. Inside a transaction that has the volume locked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db.caches import CachedView
from millpond.db.leases import Sees
from millpond.decide.admission import Admit, Asked, Refuse, admit
from millpond.decide.stock import Room
from millpond.errors import DoesNotFit
from millpond.model.volume import Volume
from millpond.services.caches.admission.admit import check_usable, mark_evictions
from millpond.services.caches.admission.stock import space_of, stock_of
from millpond.services.computes import trust


def would_fit(
    tx: Connection, volume: Volume, name: str, size: int, project_id: str, now: datetime, *, sees: Sees,
    besides: str | None = None,
) -> Admit | Refuse:  # fmt: skip
    """What admission says of so much more; `besides`: without counting this workspace itself."""
    stock = stock_of(tx, volume.id, now, sees=sees).without(besides)
    return admit(space_of(volume), stock, Asked(name, Room(size), project_id, noun="workspace"))


def reserve(
    tx: Connection, volume: Volume, name: str, size: int, project_id: str, project: str, now: datetime, *, sees: Sees,
    besides: str | None = None,
) -> Sequence[CachedView]:  # fmt: skip
    """What is evicted for it. The row that counts is the caller's.

    VolumeProblem while the volume is unwell or the project may have nothing there, DoesNotFit with what is in the way.
    """
    check_usable(volume)
    trust.check_volume(tx, volume, project_id, project)
    answer = would_fit(tx, volume, name, size, project_id, now, sees=sees, besides=besides)
    if isinstance(answer, Refuse):
        raise does_not_fit(volume, size, answer)
    return mark_evictions(tx, volume, answer.evict)


def does_not_fit(volume: Volume, size: int, answer: Refuse) -> DoesNotFit:
    standing = f" Blocked by: {'; '.join(answer.blockers)}." if answer.blockers else ""
    return DoesNotFit(
        f"{'; '.join(answer.reasons)}.{standing}",
        hint="Ask for a smaller --size, remove or resize workspaces, clear cached commits, or choose another volume.",
        volume=volume.name,
        blockers=list(answer.blockers),
        needed_bytes=size,
    )
