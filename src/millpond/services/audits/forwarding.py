"""Sends audit entries to a receiver of syslog as they happen: each once, in the order of their numbers.

How far it has come is in the database, so nothing is held in memory while the receiver is away, however long that is,
and a restart goes on where it was. Of several servers with the same receiver one sends, for all of them. Syslog has no
receipts: after a server or a receiver was killed in the middle of a batch, that batch is sent again rather than lost;
entries have numbers to tell by.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from logging import getLogger
from typing import Any

from millpond.db import audit as rows
from millpond.db.audit import AuditRecord, Forwarded
from millpond.decide.audit_values import plain, values_of
from millpond.decide.syslog import syslog_line
from millpond.model.people import SYSTEM
from millpond.services.audits.receivers import Receiver, Target
from millpond.services.deps import Deps
from millpond.services.people import audit

logger = getLogger(__name__)

SECONDS = 1.0
# Noted as sent at once: the most that is sent twice after a crash.
BATCH = 100


def entry_of(record: AuditRecord) -> dict[str, Any]:
    """An entry as the API shows it, in an export and in a message."""
    told: Mapping[str, Any] = values_of(record)
    return {name: plain(value) for name, value in told.items()}


def lines_of(records: Sequence[AuditRecord], host: str) -> list[tuple[str, dict[str, Any]]]:
    entries = [entry_of(one) for one in records]
    return [(syslog_line(one, host=host, process=str(os.getpid())), one) for one in entries]


def target_key(target: Target) -> str:
    return sha256(str(target).encode()).hexdigest()


def status(deps: Deps) -> tuple[Forwarded, int] | None:
    """How far it has come, and how many entries wait; None without a receiver, or before the first round."""
    if deps.settings.audit_syslog is None:
        return None
    with deps.db.read() as tx:
        found = rows.forwarded(tx, target_key(Target.parse(deps.settings.audit_syslog)))
        return (found, rows.count_behind(tx, found.sent_id)) if found else None


class Forwarding:
    """Of one server. `run_once` is called by one loop, again and again."""

    def __init__(
        self, deps: Deps, target: Target, *, receiver: Receiver | None = None,
        host: Callable[[], str] = socket.gethostname,
    ) -> None:  # fmt: skip
        self._deps = deps
        self._target = target
        self._key = target_key(target)
        self._receiver = receiver or Receiver(target)
        self._host = host
        # Where the last batch began: a receiver that breaks off may not have read it.
        self._unsure: int | None = None

    def run_once(self, now: datetime) -> int:
        """Send what has come since; how many. While the receiver is away, nothing: it is asked again next time."""
        done, known = 0, self._resumed(self._known(now))
        with self._deps.db.write() as tx:
            last = rows.settled_id(tx)
        if last is None:
            return 0  # somebody is just adding one
        while True:
            with self._deps.db.read() as tx:
                found = rows.after(tx, known.sent_id, up_to=last, limit=BATCH)
            if not found:
                return done
            problem = self._send(found)
            self._unsure = known.sent_id
            known = self._note(known, known.sent_id if problem else found[-1].id, problem, now)
            if problem is not None:
                return done
            done += len(found)

    def _known(self, now: datetime) -> Forwarded:
        """A receiver that is new gets what happens from now on, beginning with the entry that says so."""
        with self._deps.db.read() as tx:
            known = rows.forwarded(tx, self._key)
        if known is not None:
            return known
        with self._deps.db.write() as tx:
            known = Forwarded(rows.newest_id(tx))
            rows.set_forwarded(tx, self._key, known)
            audit.record(tx, now=now, actor=SYSTEM, action="audit.forward", subject=str(self._target))
        return known

    def _resumed(self, known: Forwarded) -> Forwarded:
        """With a new connection if the receiver has closed the one before; from the last batch if it broke off."""
        try:
            if self._receiver.was_closed():
                self._receiver.close()
        except OSError:
            self._receiver.close()
            if self._unsure is not None:
                return replace(known, sent_id=self._unsure)
        return known

    def _send(self, records: Sequence[AuditRecord]) -> str | None:
        """What stood in the way."""
        try:
            for line, entry in lines_of(records, self._host()):
                self._receiver.send(line, entry)
        except OSError as error:
            self._receiver.close()
            return f"{error.strerror or error}"[:300]
        return None

    def _note(self, known: Forwarded, number: int, problem: str | None, now: datetime) -> Forwarded:
        if problem is None:
            if known.failing_since is not None:
                logger.info("audit_forwarded_again to=%s", self._target)
            after = Forwarded(number, now)
        else:
            since = known.failing_since or now
            if known.failing_since is None:
                logger.warning("audit_not_forwarded to=%s reason=%s", self._target, problem)
            after = replace(known, sent_id=number, failing_since=since, problem=problem)
        if after != known:
            with self._deps.db.write() as tx:
                rows.set_forwarded(tx, self._key, after)
        return after
