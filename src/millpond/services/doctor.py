"""What only the server can see of its own health, each check with what to do about it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from millpond.db import agents as agent_rows
from millpond.db import caches, counts, datasets, store_sightings
from millpond.decide.replication import why_unwell
from millpond.errors import LakeTakenOver, MillError, SetupError
from millpond.model.agent import Agent
from millpond.model.lake_store import OWN, StoreSight
from millpond.model.quantity import DAY, format_bytes, format_count, format_seconds
from millpond.server_tls import read_certificate
from millpond.services import server_processes
from millpond.services.backups import schedule
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps
from millpond.services.egress import budgets
from millpond.services.lake.replicas import replicas
from millpond.services.network_warnings import OPEN_HINT, network_warnings
from millpond.wire.health import LEAST_FREE_BYTES

_PROBE = "doctor/probe"
_NAMED = 5
# Whoever renews certificates by program does so a month before; after this somebody has to look.
_RENEW_SECONDS = 14 * DAY
_RENEW = "Replace the files of --tls-cert and --tls-key; the server reads them again by itself."


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    message: str
    hint: str | None = None
    # Worth a look, and nothing is broken: a warning.
    is_mild: bool = False

    @property
    def level(self) -> str:
        return "ok" if self.ok else "warning" if self.is_mild else "error"


# What others are away or nearly used: the server itself is well.
_MILD = frozenset({"agent", "volume", "fills", "lake of sites", "egress", "lake replicas", "backups"})


def examine(deps: Deps) -> Sequence[Check]:
    """All checks, also when some of them fail."""
    checks: tuple[Callable[[Deps], Check], ...] = (
        _database,
        _servers,
        _lake,
        _records,
        _disk,
        _encryption,
        _agents,
        _volumes,
        _fills,
        _stores,
        _egress,
        _replicas,
        _backups,
    )
    found = [check(deps) for check in checks]
    return [replace(one, is_mild=True) if one.name in _MILD else one for one in found]


def _database(deps: Deps) -> Check:
    started = time.monotonic()
    try:
        with deps.db.write() as tx:
            tx.execute(text("SELECT 1"))
    except SQLAlchemyError as error:
        return Check("database", False, f"The database does not answer: {error}.", "Look at the server's log.")
    milliseconds = (time.monotonic() - started) * 1000
    kind = "SQLite" if deps.db.is_sqlite else "PostgreSQL"
    return Check("database", True, f"{kind} answers in {milliseconds:.0f} ms.")


def _servers(deps: Deps) -> Check:
    """Those that share the database: whether they seal with one key and are of one version."""
    found = server_processes.living(deps)
    if len(found) < 2:
        return Check("servers", True, "One server uses the database.")
    said = listed([f"{one.host} ({one.version}) at {one.url}" for one in found])
    if len({one.key_mark for one in found}) > 1:
        return Check(
            "servers", False, f"{len(found)} servers use different key files: {said}.",
            "What one encrypts, the others cannot read. Give all of them the same --secret-key-file.",
        )  # fmt: skip
    if len({one.version for one in found}) > 1:
        return Check(
            "servers", False, f"{len(found)} servers of different versions: {said}.",
            "Two versions work on one database while you upgrade. Upgrade the others, too.",
            is_mild=True,
        )  # fmt: skip
    return Check("servers", True, f"{len(found)} servers: {said}.")


def _lake(deps: Deps) -> Check:
    """Writes, reads and deletes one small object, if the lake is still ours."""
    try:
        deps.fence.check(now=True)
    except LakeTakenOver as error:
        return Check("lake", False, error.message, error.hint)
    except MillError as error:
        return Check("lake", False, f"Cannot use the lake: {error.message}", error.hint or "Check its URL.")
    body = str(deps.clock.now()).encode()
    try:
        deps.store.put(_PROBE, body)
        same = deps.store.get(_PROBE) == body
        deps.store.delete(_PROBE)
    except MillError as error:
        return Check("lake", False, f"Cannot use the lake: {error.message}", error.hint or "Check its URL.")
    if not same:
        return Check("lake", False, "The lake did not return what was written.", "Check the object store.")
    return Check("lake", True, f"Ours (owner record {deps.fence.epoch}); an object was written, read and deleted.")


def _records(deps: Deps) -> Check:
    """Whether the database knows every record of the lake, as far as was seen since the start."""
    with deps.db.read() as tx:
        differing = datasets.in_conflict(tx)
    if differing:
        return Check(
            "records",
            False,
            "Read-only, because the lake holds more of them than this database: "
            f"{listed([found.written for found in differing])}.",
            "Bring the database up to date with the lake: mill lake reconcile",
        )
    if ignored := deps.fence.ignored:
        said = "1 record is" if len(ignored) == 1 else f"{len(ignored)} records are"
        return Check(
            "records",
            False,
            f"{said} ignored, written by a server that no longer owned the lake: {', '.join(ignored[:_NAMED])}.",
            "Stop that server. What was committed there must be committed here again.",
        )
    return Check("records", True, "The database knows all that the lake holds.")


def _disk(deps: Deps) -> Check:
    free = shutil.disk_usage(deps.settings.data_dir).free
    said = f"{format_bytes(free)} free in the data directory."
    if free < LEAST_FREE_BYTES:
        return Check("disk", False, said, "Free some space, or move the data directory (--data-dir).")
    return Check("disk", True, said)


def _encryption(deps: Deps) -> Check:
    """Whether what people send is private on its way, and for how long the certificates hold."""
    settings, now = deps.settings, deps.clock.now()
    if warnings := network_warnings(deps):
        return Check("encryption", False, warnings[0], OPEN_HINT, is_mild=True)
    if not settings.tls:
        ends = "A proxy in front encrypts" if settings.is_https else "Only this machine reaches the server"
        return Check("encryption", True, f"{ends}.")
    try:
        shown = [read_certificate(pair.cert) for pair in settings.tls]
    except SetupError as error:
        return Check("encryption", False, error.message, error.hint)
    soonest = min(shown, key=lambda one: one.not_after)
    left = (soonest.not_after - now).total_seconds()
    names = ", ".join(soonest.names[:_NAMED])
    if left <= 0:
        return Check("encryption", False, f"The certificate of {names} has expired.", _RENEW)
    said = f"The certificate of {names} is valid for {format_seconds(left)}."
    return Check("encryption", left > _RENEW_SECONDS, said, _RENEW, is_mild=True)


def _backups(deps: Deps) -> Check:
    found = schedule.status(deps)
    if found.problem is not None:
        # A laptop does without; a place that was given is meant.
        return Check("backups", found.place is None, found.problem, found.hint)
    made = found.newest.started_at if found.newest else None
    said = f"The newest backup is of {made:%Y-%m-%d %H:%M} UTC." if made else "The first backup is not due yet."
    return Check("backups", True, said)


def _agents(deps: Deps) -> Check:
    with deps.db.read() as tx:
        agents = counts.totals(tx, agents_since=connected_since(deps.clock.now())).agents
    if not agents:
        return Check(
            "agent",
            False,
            "No agent is connected.",
            "`mill up` starts one, unless --no-agent is given. Its log is agent/agent.log in the data directory.",
        )
    with deps.db.read() as tx:
        silent = agent_rows.silent(tx, since=connected_since(deps.clock.now()))
    if silent:
        return Check(
            "agent",
            False,
            f"{agents} connected. Not heard of: {listed([_silence(one, deps.clock.now()) for one in silent])}.",
            "Start them again, or check their network. Remove those that are gone: mill compute detach NAME",
        )
    return Check("agent", True, f"{agents} connected.")


def _silence(agent: Agent, now: datetime) -> str:
    assert agent.seen_at is not None  # only those that were heard of before
    return f"{agent.compute} at {agent.site}, for {format_seconds((now - agent.seen_at).total_seconds())}"


def _volumes(deps: Deps) -> Check:
    with deps.db.read() as tx:
        now = counts.totals(tx, agents_since=deps.clock.now())
    if not now.volumes:
        return Check("volume", False, "No volumes.", "Add one: mill volume add NAME PATH")
    if now.volume_problems:
        return Check(
            "volume", False, f"{now.volume_problems} of {now.volumes} have a problem.", "See: mill volume list"
        )
    used, room = format_bytes(now.cached_bytes), format_bytes(now.volume_bytes)
    return Check("volume", True, f"{now.volumes} in use, {used} of {room} used.")


def _fills(deps: Deps) -> Check:
    """Whether any site has to stop filling, because it cannot reach the lake or for another reason."""
    with deps.db.read() as tx:
        held_up = caches.held_up(tx)
    if not held_up:
        return Check("fills", True, "None is held up.")
    reasons = dict.fromkeys(f"site {view.site}: {view.cached.problem}" for view in held_up)
    return Check(
        "fills",
        False,
        f"{format_count(len(held_up), 'fill')} held up. {listed(list(reasons))}",
        "Fills continue by themselves. Check that the site reaches the lake: mill compute test NAME",
    )


def _stores(deps: Deps) -> Check:
    """Whether agents can read the lake from the stores that were set for their sites."""
    with deps.db.read() as tx:
        found = store_sightings.problems(tx, since=connected_since(deps.clock.now()))
    if not found:
        return Check("lake of sites", True, "Every site reads the lake where it is set to.")
    told = dict.fromkeys(f"site {site}: {one.problem}" for site, sights in found.items() for one in sights)
    return Check(
        "lake of sites",
        False,
        listed(list(told)),
        _elsewhere(found),
    )


def _elsewhere(found: Mapping[str, Sequence[StoreSight]]) -> str:
    """What sites do that cannot read the lake as they should."""
    if all(one.store_id == OWN for sights in found.values() for one in sights):
        return "Nothing is fetched there until it is back. Check the network of the site: mill compute test NAME"
    return "Until then the site reads from another store. See: mill site show NAME"


def _egress(deps: Deps) -> Check:
    beyond = budgets.all_beyond(deps)
    if not beyond:
        return Check("egress", True, "No budget is nearly used up.")
    said = listed([f"{one.project or 'all projects'}: {one.text}" for one in beyond])
    return Check("egress", False, f"Monthly budgets nearly or wholly used: {said}.", "See: mill egress budget list")


def _replicas(deps: Deps) -> Check:
    """Whether replicas of the lake are kept up to date."""
    found = replicas.list_all(deps)
    now = deps.clock.now()
    wrong = {one.replica.name: why_unwell(one.replica.problem, one.lag, now) for one in found}
    told = [f"{name}: {why}" for name, why in wrong.items() if why is not None]
    if told:
        return Check(
            "lake replicas", False, listed(told), "Copying goes on by itself. See: mill lake replica show NAME"
        )
    said = "; ".join(f"{one.replica.name} is {one.state}" for one in found)
    return Check("lake replicas", True, f"{said}." if said else "None.")


def listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return "; ".join(words[:_NAMED]) + more
