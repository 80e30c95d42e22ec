"""Counts API calls by project and minute. Each server counts its own, and learns of the others' every few seconds.

So with several servers a project may make somewhat more calls than its quota: what the others counted since they were
last heard of.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from millpond.db import projects, quotas
from millpond.db.engine import Database
from millpond.decide.quotas import refusal, seconds_left
from millpond.errors import TooMany
from millpond.model.ids import new_id
from millpond.model.people import Actor, ActorKind
from millpond.model.quota import QuotaHolder, QuotaKind, QuotaUse

SECONDS = 5.0
_KEPT_MINUTES = 60
_COUNTED = (ActorKind.USER, ActorKind.PLACEMENT)


@dataclass
class CallMeter:
    """Of one server process. Safe to use from several threads; counting needs no database."""

    server_id: str = field(default_factory=lambda: new_id(16))
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    # Calls by project, minute and caller.
    _counted: dict[tuple[str, int, str], int] = field(default_factory=dict, repr=False)
    _unsent: set[tuple[str, int, str]] = field(default_factory=set, repr=False)
    _limits: Mapping[str, int] = field(default_factory=dict, repr=False)
    _others: Mapping[str, int] = field(default_factory=dict, repr=False)
    _minute: int = 0
    # Calls of this minute by project.
    _totals: dict[str, int] = field(default_factory=dict, repr=False)

    def count(self, at: datetime, actor: Actor, project_id: str, project: str) -> None:
        """TooMany, with when to try again, for a project that has made all its calls of this minute."""
        if actor.kind not in _COUNTED:
            return
        now = at.timestamp()
        who = actor.name[:100]
        with self._lock:
            self._turn_to(int(now // 60))
            limit = self._limits.get(project_id)
            used = self._totals.get(project_id, 0) + self._others.get(project_id, 0)
            if limit is None or used < limit:
                self._note(project_id, who)
                return
            holders = self._holders(project_id)
        use = QuotaUse(QuotaKind.CALLS, limit, used, holders)
        refused = refusal(project, use, 1)
        assert refused is not None
        raise TooMany(
            refused.message, hint=refused.hint, quota=QuotaKind.CALLS.value, limit=limit, used=used,
            retry_after_seconds=seconds_left(now % 60),
        )  # fmt: skip

    def sync(self, db: Database, at: datetime) -> None:
        """Tell the other servers what was counted here, and learn of them and of new quotas."""
        minute = int(at.timestamp() // 60)
        with self._lock:
            self._turn_to(minute)
            unsent = {key: self._counted[key] for key in self._unsent if key in self._counted}
            self._unsent.clear()
        if unsent:
            with db.write() as tx:
                known = projects.names_of(tx, {project_id for project_id, _, _ in unsent})
                there = {key: number for key, number in unsent.items() if key[0] in known}
                if there:
                    quotas.put_calls(tx, self.server_id, there)
                quotas.forget_calls(tx, minute - _KEPT_MINUTES)
        with db.read() as tx:
            found = quotas.all_of(tx)
            others = quotas.calls_of_others(tx, self.server_id, minute) if found else {}
        limits = {key: one.calls_per_minute for key, one in found.items() if one.calls_per_minute is not None}
        with self._lock:
            self._limits = limits
            if minute == self._minute:
                self._others = others

    def _turn_to(self, minute: int) -> None:
        if minute == self._minute:
            return
        self._minute, self._others = minute, {}
        self._totals.clear()
        old = [key for key in self._counted if key[1] < minute and key not in self._unsent]
        for key in old:
            del self._counted[key]

    def _note(self, project_id: str, who: str) -> None:
        key = project_id, self._minute, who
        self._counted[key] = self._counted.get(key, 0) + 1
        self._unsent.add(key)
        self._totals[project_id] = self._totals.get(project_id, 0) + 1

    def _holders(self, project_id: str) -> tuple[QuotaHolder, ...]:
        now = (project_id, self._minute)
        found = [(who, number) for (*when, who), number in self._counted.items() if tuple(when) == now]
        ordered = sorted(found, key=lambda one: (-one[1], one[0]))
        return tuple(QuotaHolder(who, number) for who, number in ordered)
