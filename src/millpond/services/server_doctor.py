"""What an operator asks first: the checks of `mill doctor`, and those of the whole site. For administrators."""

from __future__ import annotations

import platform
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from millpond.db import jobs, migrate, mirrors, quotas, volumes
from millpond.db import projects as project_rows
from millpond.db.tables import project as project_table
from millpond.db.tables import source as source_table
from millpond.errors import MillError
from millpond.model.people import SYSTEM
from millpond.model.quantity import format_bytes, format_count, format_seconds
from millpond.model.quota import QuotaKind
from millpond.services import doctor
from millpond.services.audits import forwarding
from millpond.services.deps import Deps
from millpond.services.doctor import Check, listed
from millpond.services.health import Health
from millpond.services.places.volume_views import view_of
from millpond.services.quotas.quotas import use_of

# A round that comes so often fails for more than a moment.
_FAILURES = 3
_LONG_WAIT = timedelta(minutes=30)
_NEARLY = 0.9
_SLOW_MS, _SLOW_LAKE_MS = 250, 2_000
_MOST_VOLUMES = 1_000


def examine(deps: Deps, health: Health) -> Sequence[Check]:
    """All checks, also when some of them fail: a check that cannot be made is an error itself."""
    own: tuple[tuple[str, Callable[[Deps], Check]], ...] = (
        ("versions", _versions),
        ("migrations", _migrations),
        ("database size", _database),
        ("lake latency", _lake_latency),
        ("keys", _keys),
        ("loops", _loops),
        ("queue", _queue),
        ("volume space", _volume_space),
        ("sources", _sources),
        ("mirrors", _mirrors),
        ("quotas", _quotas),
        ("audit log", _audit),
    )
    found = [_safely(deps, name, check) for name, check in own]
    return [*doctor.examine(deps), _clock(health), *found]


def _safely(deps: Deps, name: str, check: Callable[[Deps], Check]) -> Check:
    try:
        return check(deps)
    except (MillError, SQLAlchemyError, OSError) as error:
        said = str(error).partition("\n")[0]
        return Check(name, False, f"Cannot check this: {said}", "Look at the server's log.")


def _versions(deps: Deps) -> Check:
    return Check("versions", True, f"Millpond {deps.version or 'unknown'}, Python {platform.python_version()}, "
                 f"{platform.system()} {platform.release()}.")  # fmt: skip


def _migrations(deps: Deps) -> Check:
    with deps.db.read() as tx:
        found = migrate.current_revision(tx)
    if found is None or found == migrate.HEAD:
        return Check("migrations", True, f"The database is at revision {found or migrate.HEAD}, as this version is.")
    return Check(
        "migrations", False, f"The database is at revision {found}, this version at {migrate.HEAD}.",
        "Two versions may work on it while you upgrade. Upgrade this server, too.", is_mild=True,
    )  # fmt: skip


def _database(deps: Deps) -> Check:
    """How large it is, how quickly it answers, and how many connections this server holds."""
    began = time.monotonic()
    with deps.db.read() as tx:
        tx.execute(text("SELECT 1"))
        took = (time.monotonic() - began) * 1000
        if deps.db.is_sqlite:
            pages, page = tx.scalar(text("PRAGMA page_count")) or 0, tx.scalar(text("PRAGMA page_size")) or 0
            said = f"SQLite, {format_bytes(pages * page)}"
        else:
            size = tx.scalar(text("SELECT pg_database_size(current_database())")) or 0
            used = tx.scalar(text("SELECT count(*) FROM pg_stat_activity")) or 0
            most = int(tx.scalar(text("SHOW max_connections")) or 0)
            said = f"PostgreSQL, {format_bytes(size)}, {used} of {most} connections"
            if most and used > most * _NEARLY:
                return Check(
                    "database size", False, f"{said}.", "Raise max_connections, or use a pooler.", is_mild=True
                )
    return Check(
        "database size", took < _SLOW_MS, f"{said}; a read took {took:.0f} ms.",
        "It is slow: look at its disk and at what else runs there.", is_mild=True,
    )  # fmt: skip


def _lake_latency(deps: Deps) -> Check:
    """Of one write, as uploads and records make."""
    began = time.monotonic()
    deps.store.put("doctor/latency", b"x")
    took = (time.monotonic() - began) * 1000
    deps.store.delete("doctor/latency")
    return Check(
        "lake latency", took < _SLOW_LAKE_MS, f"A write took {took:.0f} ms.",
        "The object store is slow: look at the network between.", is_mild=True,
    )  # fmt: skip


def _keys(deps: Deps) -> Check:
    """Whether files with secrets can be read by others on this machine."""
    settings = deps.settings
    files = [settings.secret_key, settings.backup_passphrase_file, *(pair.key for pair in settings.tls)]
    if settings.database_url is None:
        files.append(settings.data_dir / "millpond.db")
    here = [file for file in files if file is not None and file.exists()]
    open_to_all = [file for file in here if _mode(file) & 0o077]
    if open_to_all:
        names = " ".join(str(file) for file in open_to_all)
        return Check("keys", False, f"Others on this machine can read {names}.", f"Run: chmod 600 {names}")
    return Check("keys", True, f"{format_count(len(here), 'file')} with secrets, for the server alone.")


def _mode(file: Path) -> int:
    with suppress(OSError):
        return stat.S_IMODE(file.stat().st_mode)
    return 0


def _clock(health: Health) -> Check:
    found = next((part for part in health.parts() if part.name == "clock"), None)
    if found is None or found.ok:
        return Check("clock", True, found.message if found else "Not looked at yet.")
    return Check("clock", False, found.message, "Synchronize the clocks of the servers and the database (NTP).")


def _loops(deps: Deps) -> Check:
    """What is done in the background: rounds that failed again and again."""
    found, now = deps.rounds.by_loop(), deps.clock.now()
    if not found:
        return Check("loops", True, "No background task has run yet.")
    failing = {name: one for name, one in found.items() if one.failures}
    told = [
        f"{name} failed {format_count(one.failures, 'time')}, last {format_seconds((now - one.at).total_seconds())} ago"
        for name, one in sorted(failing.items())
    ]
    if told:
        is_mild = all(one.failures < _FAILURES for one in failing.values())
        hint = "It is tried again by itself. See the server's log for loop_failed."
        return Check("loops", False, f"{listed(told)}.", hint, is_mild=is_mild)
    newest = max(one.at for one in found.values())
    ago = format_seconds(max(0.0, (now - newest).total_seconds()))
    return Check("loops", True, f"{format_count(len(found), 'background task')}, the last round {ago} ago; none fails.")


def _queue(deps: Deps) -> Check:
    """How many jobs wait, and how long the first of them has."""
    with deps.db.read() as tx:
        waiting = jobs.queued(tx)
    if not waiting:
        return Check("queue", True, "No job waits.")
    oldest = min(waiting, key=lambda job: job.queued_at)
    waited = deps.clock.now() - oldest.queued_at
    said = f"{format_count(len(waiting), 'job')} waiting, the longest for {format_seconds(waited.total_seconds())}"
    return Check(
        "queue", waited < _LONG_WAIT, f"{said}: {oldest.project}/{oldest.name}#{oldest.number}.",
        f"See why: mill why {oldest.id}", is_mild=True,
    )  # fmt: skip


def _volume_space(deps: Deps) -> Check:
    with deps.db.read() as tx:
        views = [view_of(tx, one, deps.clock.now(), SYSTEM) for one in volumes.all_of(tx)[:_MOST_VOLUMES]]
    full = [
        f"{view.volume.name} has {format_bytes(view.free_bytes)} free"
        for view in views
        if view.free_bytes < (1 - _NEARLY) * max(1, view.volume.capacity_bytes - view.volume.reserve_bytes)
    ]
    if full:
        return Check(
            "volume space", False, f"Nearly full: {listed(full)}.",
            "See what is evicted next: mill cache plan VOLUME. Or give it more room: mill volume set", is_mild=True,
        )  # fmt: skip
    return Check("volume space", True, f"{format_count(len(views), 'volume')} with room.")


def _sources(deps: Deps) -> Check:
    query = (
        select(project_table.c.name.label("project"), source_table.c.name, source_table.c.failures)
        .join(project_table, project_table.c.id == source_table.c.project_id)
        .where(source_table.c.failures > 0, source_table.c.paused_at.is_(None))
        .order_by(source_table.c.failures.desc())
    )
    with deps.db.read() as tx:
        count = tx.scalar(select(func.count()).select_from(source_table)) or 0
        told = [f"{row.project}/{row.name} ({format_count(row.failures, 'failure')})" for row in tx.execute(query)]
    if told:
        return Check("sources", False, f"Failing: {listed(told)}.", "See why: mill source show NAME", is_mild=True)
    return Check("sources", True, f"{format_count(count, 'source')}, none fails.")


def _mirrors(deps: Deps) -> Check:
    with deps.db.read() as tx:
        found = mirrors.all_mirrors(tx)
        names = project_rows.names_of(tx, {one.project_id for one in found})
    failing = [one for one in found if one.failures and one.paused_at is None]
    told = [f"{names.get(one.project_id, '?')}/{one.name} ({format_count(one.failures, 'failure')})" for one in failing]
    if told:
        return Check("mirrors", False, f"Failing: {listed(told)}.", "See why: mill mirror show NAME", is_mild=True)
    return Check("mirrors", True, f"{format_count(len(found), 'mirror')}, none fails.")


def _quotas(deps: Deps) -> Check:
    """Of projects that have nearly used what they may; of calls a minute everybody hears at once."""
    told: list[str] = []
    with deps.db.read() as tx:
        limited = quotas.all_of(tx)
        names = project_rows.names_of(tx, set(limited))
        for project_id, quota in limited.items():
            for kind in (QuotaKind.LAKE, QuotaKind.CACHED, QuotaKind.JOBS):
                limit = quota.of(kind)
                if limit is None:
                    continue
                use = use_of(tx, deps.clock.now(), project_id, kind, quota)
                if use.used >= limit * _NEARLY:
                    share = f"{use.used * 100 // limit} %" if limit else "all"
                    told.append(f"{names.get(project_id, '?')}: {share} of {kind.value}")
    if told:
        return Check(
            "quotas", False, f"Nearly used: {listed(told)}.", "See: mill project usage -p PROJECT", is_mild=True
        )
    return Check("quotas", True, f"{format_count(len(limited), 'project')} with a quota, none nearly used.")


def _audit(deps: Deps) -> Check:
    """Whether entries reach their receiver."""
    target = deps.settings.audit_syslog
    if target is None:
        return Check("audit log", True, "Kept in the database; sent nowhere else.")
    found = forwarding.status(deps)
    if found is None:
        return Check("audit log", True, f"About to be sent to {target}.")
    sent, waiting = found
    if sent.failing_since is not None:
        away = format_seconds((deps.clock.now() - sent.failing_since).total_seconds())
        return Check(
            "audit log", False, f"{target} cannot be reached for {away}: {sent.problem}. "
            f"{format_count(waiting, 'entry', 'entries')} waiting.",
            "Start the receiver, or correct --audit-syslog. Entries wait in the database.",
        )  # fmt: skip
    return Check("audit log", True, f"Sent to {target}, {format_count(waiting, 'entry', 'entries')} waiting.")
