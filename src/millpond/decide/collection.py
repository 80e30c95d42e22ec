"""What leaves the lake, and why the rest stays: packs by what needs them, pages and commits by how long nothing did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum

from millpond.model.dataset import PackState
from millpond.model.quantity import format_seconds

# However much of a hurry: as long as a URL may still be used, and well beyond, what it writes is waited for.
URL_MARGIN = timedelta(hours=1)


class Mark(IntEnum):
    """The best reason for which a page stays; the lowest number wins."""

    NAMED = 0
    BIN = 1
    SET_ASIDE = 2
    UPLOADING = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """How long what nobody needs is left alone. None of these is for safety: that is what transactions are for."""

    # Since an upload was last used: somebody may be working on it.
    upload: timedelta = timedelta(days=1)
    # Since nothing names a commit any more: somebody may regret it.
    set_aside: timedelta = timedelta(days=7)

    @classmethod
    def hurried(cls) -> Policy:
        return cls(timedelta(0), timedelta(0))


@dataclass(frozen=True, slots=True)
class PackSeen:
    """`used_at` is when its upload was last used, `mark` the best reason of any page that needs it."""

    id: str
    state: PackState
    bytes: int
    promised_at: datetime
    used_at: datetime
    mark: Mark | None = None
    problem: str | None = None


@dataclass(slots=True)
class Amount:
    packs: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        self.packs += 1
        self.bytes += size


@dataclass(frozen=True, slots=True)
class PackPlan:
    """Packs that go, in order of ids, and how much stays for which reason."""

    goes: Mapping[str, PackSeen] = field(default_factory=dict)
    stays: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(pack.bytes for pack in self.goes.values())


def plan_packs(packs: Iterable[PackSeen], policy: Policy, now: datetime) -> PackPlan:
    goes: dict[str, PackSeen] = {}
    stays: dict[str, Amount] = {}
    for pack in packs:
        why = why_stays(pack, policy, now)
        if why is None:
            goes[pack.id] = pack
        else:
            stays.setdefault(why, Amount()).add(pack.bytes)
    return PackPlan(goes, stays)


def why_stays(pack: PackSeen, policy: Policy, now: datetime) -> str | None:
    """The reason for which a pack stays; None if it goes."""
    if pack.state is PackState.DELETING:
        return None
    if pack.mark is not None:
        return _MARKS[pack.mark] if pack.problem is None else f"{_MARKS[pack.mark]}, though it is damaged"
    if pack.state is PackState.PROMISED and pack.promised_at > now - max(policy.upload, URL_MARGIN):
        return "reserved for an upload that may still write it"
    if pack.used_at > now - policy.upload:
        return f"part of an upload that was active within {format_seconds(policy.upload.total_seconds())}"
    return None


_MARKS = {
    Mark.NAMED: "needed by commits in use",
    Mark.BIN: "needed only by deleted datasets, which can still be restored",
    Mark.SET_ASIDE: "needed only by unreferenced commits, within their grace period",
    Mark.UPLOADING: "needed by pages that are about to be committed",
}


def stale_pages_before(policy: Policy, now: datetime) -> datetime:
    """Pages promised before this time and not used by a commit are given up."""
    return now - max(policy.upload, URL_MARGIN)


def may_remove(set_aside_at: datetime | None, policy: Policy, now: datetime) -> bool:
    """True if an unreferenced commit has been set aside long enough."""
    return policy.set_aside == timedelta(0) or (set_aside_at is not None and set_aside_at <= now - policy.set_aside)
