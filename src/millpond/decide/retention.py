"""Which commits of a dataset stay, and why: those within the retention rule of a ref, and those used elsewhere."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from millpond.model.dataset import RefType
from millpond.model.quantity import format_count

NOTHING_NAMES_IT = "nothing refers to it"


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Of each branch the newest `keep_last` commits, and those younger than `keep_days`; at least one of the two."""

    keep_last: int | None = None
    keep_days: int | None = None

    @property
    def written(self) -> str:
        parts = [f"the newest {self.keep_last} of each branch"] if self.keep_last is not None else []
        parts += [f"those younger than {format_count(self.keep_days, 'day')}"] if self.keep_days is not None else []
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class CommitSeen:
    id: str
    parents: tuple[str, ...]
    time: datetime


@dataclass(frozen=True, slots=True)
class RefSeen:
    name: str
    type: RefType
    commit_id: str


@dataclass(frozen=True, slots=True)
class Retained:
    """Why each commit stays or is removed."""

    stays: Mapping[str, str] = field(default_factory=dict)
    goes: Mapping[str, str] = field(default_factory=dict)


def retain(
    commits: Sequence[CommitSeen],
    refs: Sequence[RefSeen],
    *,
    named: Mapping[str, str],
    rule: RetentionRule | None,
    now: datetime,
) -> Retained:
    """Every commit of one dataset, with one reason each. `named` are commits that others need, and who that is.

    What a tag, a branch or anything else names itself always stays; a rule cuts only what lies behind it.
    """
    known = {commit.id: commit for commit in commits}
    stays: dict[str, str] = {}
    for ref in sorted(refs, key=lambda ref: (ref.type is RefType.BRANCH, ref.name)):
        head = f"the newest of branch {ref.name}" if ref.type is RefType.BRANCH else f"tag {ref.name}"
        stays.setdefault(ref.commit_id, head)
    for commit_id, why in named.items():
        stays.setdefault(commit_id, why)
    goes: dict[str, str] = {}
    for ref in sorted(refs, key=lambda ref: ref.name):
        for number, commit in enumerate(_history(known, ref.commit_id)):
            kept = _kept_behind(ref, commit, number, rule, now)
            if kept is not None:
                stays.setdefault(commit.id, kept)
            elif rule is not None:
                goes.setdefault(commit.id, f"the rule keeps {rule.written}")
    goes = {commit_id: why for commit_id, why in goes.items() if commit_id not in stays}
    goes |= {commit.id: NOTHING_NAMES_IT for commit in commits if commit.id not in stays and commit.id not in goes}
    return Retained({commit_id: why for commit_id, why in stays.items() if commit_id in known}, goes)


def _kept_behind(
    ref: RefSeen, commit: CommitSeen, number: int, rule: RetentionRule | None, now: datetime
) -> str | None:
    """Why a commit stays that `ref` reaches, `number` commits behind it; None if the rule lets it go."""
    if rule is None:
        return f"in the history of {ref.type.value} {ref.name}"
    if ref.type is RefType.BRANCH and rule.keep_last is not None and number < rule.keep_last:
        return f"one of the newest {rule.keep_last} of branch {ref.name}"
    if rule.keep_days is not None and commit.time > now - timedelta(days=rule.keep_days):
        return f"younger than {format_count(rule.keep_days, 'day')}"
    return None


def _history(known: Mapping[str, CommitSeen], start: str) -> Iterator[CommitSeen]:
    """What a commit has grown from, newest first. Parents that are gone end it."""
    seen = {start}
    waiting = [(-known[start].time.timestamp(), start)] if start in known else []
    while waiting:
        commit = known[heapq.heappop(waiting)[1]]
        yield commit
        for parent in commit.parents:
            if parent in known and parent not in seen:
                seen.add(parent)
                heapq.heappush(waiting, (-known[parent].time.timestamp(), parent))
