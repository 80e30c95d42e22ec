"""Backups that the server makes of itself: by the schedule, or because an administrator asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy.exc import SQLAlchemyError

from millpond.db import backup_runs, server
from millpond.decide import backups as decide
from millpond.errors import Conflict, MillError, NotReady
from millpond.model.backup import Backup, BackupRun, BackupRunState, BackupWork
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM, Actor
from millpond.services.backups import places
from millpond.services.backups.create import WhatToBackUp, create
from millpond.services.backups.encryption import read_passphrase
from millpond.services.backups.places import BackupPlace
from millpond.services.backups.reading import open_backup
from millpond.services.backups.verify import verify
from millpond.services.deps import Deps
from millpond.services.people import audit

logger = getLogger(__name__)

TOPIC = "backups"
SECONDS = 30.0
_SHOWN = 20
_SILENT = timedelta(minutes=5)
_REMEMBERED = timedelta(days=30)
_TELL_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class BackupStatus:
    """Where and how often, what was done lately, and what is wrong."""

    place: str | None
    every_seconds: float
    keep: int
    is_encrypted: bool
    newest: BackupRun | None
    next_at: datetime | None
    runs: Sequence[BackupRun]
    problem: str | None
    hint: str | None


def status(deps: Deps) -> BackupStatus:
    settings, now = deps.settings, deps.clock.now()
    with deps.db.read() as tx:
        newest, runs, row = backup_runs.newest_success(tx), backup_runs.latest(tx, limit=_SHOWN), server.get(tx)
    every = timedelta(seconds=settings.backup_seconds)
    tried = [run for run in runs if run.work is BackupWork.CREATE and run.state is BackupRunState.FAILED]
    made_at = newest.started_at if newest else None
    found = decide.health(
        every,
        has_place=settings.backup_to is not None,
        succeeded_at=made_at,
        running_since=row.created_at if row else now,
        last_problem=tried[0].problem if tried and (made_at is None or tried[0].asked_at > made_at) else None,
        now=now,
    )
    return BackupStatus(
        place=settings.backup_to,
        every_seconds=settings.backup_seconds,
        keep=settings.backup_keep,
        is_encrypted=settings.backup_passphrase_file is not None,
        newest=newest,
        next_at=(made_at + every if made_at else now) if every and settings.backup_to else None,
        runs=runs,
        problem=found.problem,
        hint=found.hint,
    )


def list_all(deps: Deps) -> Sequence[Backup]:
    return places.list_backups(place_of(deps).store)


def place_of(deps: Deps) -> BackupPlace:
    """Conflict for a server that was not told where."""
    if deps.settings.backup_to is None:
        raise Conflict(
            "This server has no place for backups.",
            hint="Start it with --backup-to DIR, or on its machine run: mill backup create DIR",
        )
    return places.open_place(deps.settings.backup_to)


def ask(deps: Deps, actor: Actor, work: BackupWork, backup_id: str | None = None) -> BackupRun:
    """Have a backup made, or one verified, as soon as whatever is under way is done."""
    place = place_of(deps)
    if backup_id is not None:
        open_backup(place.store, backup_id, _passphrase(deps))  # refused at once: not there, or a wrong passphrase
    run = BackupRun(new_id(), work, BackupRunState.QUEUED, actor.name, deps.clock.now(), backup_id=backup_id)
    with deps.db.write() as tx:
        if work is BackupWork.CREATE and backup_runs.queued(tx, BackupWork.CREATE):
            raise NotReady("A backup is about to be made.", hint="See: mill backup status")
        backup_runs.insert(tx, run)
        details = {"backup": backup_id} if backup_id else {}
        audit.record(
            tx, now=run.asked_at, actor=actor, action=f"backup.{work.value}", subject=place.written, details=details
        )
    deps.events.wake(TOPIC)
    return run


def get_run(deps: Deps, run_id: str) -> BackupRun | None:
    with deps.db.read() as tx:
        return backup_runs.get(tx, run_id)


def run_due(deps: Deps, now: datetime) -> None:
    """Queue what the schedule asks for, and work on what is queued: one after the other, whichever server does."""
    if deps.settings.backup_to is None:
        return
    _queue_by_schedule(deps, now)
    with deps.db.read() as tx:
        waiting = backup_runs.queued(tx)
    for run in waiting:
        began = deps.clock.now()
        with deps.db.write() as tx:
            if not backup_runs.begin(tx, run.id, now=began, silent_since=began - _SILENT):
                return
        _work(deps, run, began)
    with deps.db.write() as tx:
        newest = backup_runs.newest_success(tx)
        backup_runs.forget_before(tx, now - _REMEMBERED, keep=newest.id if newest else None)


def _queue_by_schedule(deps: Deps, now: datetime) -> None:
    every = timedelta(seconds=deps.settings.backup_seconds)
    with deps.db.write() as tx:
        runs = [run for run in backup_runs.latest(tx, limit=_SHOWN) if run.work is BackupWork.CREATE]
        if any(not run.state.is_over for run in runs):
            return
        newest = backup_runs.newest_success(tx)
        made_at = newest.started_at if newest else None
        tried_at = max((run.asked_at for run in runs), default=None)
        if decide.is_due(every, succeeded_at=made_at, tried_at=tried_at, now=now):
            backup_runs.insert(tx, BackupRun(new_id(), BackupWork.CREATE, BackupRunState.QUEUED, SYSTEM.name, now))


def _work(deps: Deps, run: BackupRun, began: datetime) -> None:
    try:
        place = place_of(deps)
        with _telling(deps, run):
            if run.work is BackupWork.CREATE:
                _create(deps, run, place, began)
            else:
                _verify(deps, run, place)
    except MillError as error:
        _end(deps, run, BackupRunState.FAILED, problem=f"{error.message} {error.hint or ''}".strip())
        logger.error("backup_failed work=%s reason=%s", run.work.value, error.message)
    except Exception as error:
        _end(deps, run, BackupRunState.FAILED, problem=f"{type(error).__name__}: {error}")
        raise


def _create(deps: Deps, run: BackupRun, place: BackupPlace, began: datetime) -> None:
    made = create(WhatToBackUp(deps.db, deps.settings), place.store, passphrase=_passphrase(deps), now=began)
    _end(deps, run, BackupRunState.DONE, backup_id=made.id, bytes=made.bytes, rows=made.rows)
    logger.info("backup_made id=%s rows=%d bytes=%d", made.id, made.rows, made.bytes)
    places.keep_newest(place.store, deps.settings.backup_keep, database=made.database, now=began)


def _verify(deps: Deps, run: BackupRun, place: BackupPlace) -> None:
    assert run.backup_id is not None
    found = verify(open_backup(place.store, run.backup_id, _passphrase(deps)))
    _end(deps, run, BackupRunState.DONE, bytes=found.backup.bytes, rows=found.rows)


def _end(deps: Deps, run: BackupRun, state: BackupRunState, **values: object) -> None:
    with deps.db.write() as tx:
        backup_runs.end(tx, run.id, state, deps.clock.now(), **values)


def _passphrase(deps: Deps) -> str | None:
    file = deps.settings.backup_passphrase_file
    return read_passphrase(file) if file is not None else None


@contextmanager
def _telling(deps: Deps, run: BackupRun) -> Iterator[None]:
    """Others see meanwhile that somebody is at it."""
    done = threading.Event()

    def tell() -> None:
        while not done.wait(_TELL_SECONDS):
            try:
                with deps.db.write() as tx:
                    backup_runs.seen(tx, run.id, deps.clock.now())
            except SQLAlchemyError as error:
                logger.warning("backup_not_told reason=%s", error)

    thread = threading.Thread(target=tell, name="backup", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
