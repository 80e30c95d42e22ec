"""Puts the server together and runs it: data directory, database, lake, loops, HTTP, and the agent of this machine."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from logging import getLogger
from pathlib import Path

from millpond import __version__, data_dir, tracing
from millpond.api.content import create_content_app
from millpond.api.front import create_front
from millpond.api.listener import Listener, bind
from millpond.api.origins import TwoOrigins
from millpond.api.quick_points import QuickPoints
from millpond.api.server import create_app
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.client.credentials import config_dir, save_local_token
from millpond.client.files import write_atomically
from millpond.client.servers import SavedLogins
from millpond.db import computes, migrate, sites, volumes
from millpond.db.engine import Database
from millpond.errors import SetupError
from millpond.local_tls import TRUSTED_FILE, LocalTrust, local_name
from millpond.loops import (
    clusters,
    elastic,
    endpoints,
    flows,
    housekeeping,
    logs,
    notifications,
    schedule,
    searches,
    servers,
    triggers,
)
from millpond.loops.child import Child
from millpond.loops.runner import Loop, LoopRunner
from millpond.model.people import SYSTEM
from millpond.sealing import Seal
from millpond.server_tls import ServedCertificates, warn_of_readable_keys
from millpond.services import server_processes, setup, signing_secret
from millpond.services.commits import records
from millpond.services.deps import Clock, Deps, SystemClock
from millpond.services.events import EventHub
from millpond.services.health import Health
from millpond.services.lake import drift, lake_owner, pending_deletion, reindex
from millpond.services.lake.fence import SETTLE_SECONDS, Fence, FencedStore
from millpond.services.lake.open_replicas import copies
from millpond.services.lake.reindex import Reindexed
from millpond.services.lake.replicas import keeping
from millpond.services.people import users
from millpond.services.server_processes import beside_others
from millpond.services.setup import InstalledAgent
from millpond.services.sign_in import providers
from millpond.settings import Settings, is_open_without_tls

logger = getLogger(__name__)

_PORTS_TO_TRY = 50
_LAST_PORT = 65_535
_FIRST_LOOK_SECONDS = 20.0
_CERTIFICATES_SECONDS = 5.0
# Of the data directory: where the agent of this machine keeps its state, and what it caches.
_AGENT, _VOLUME = "agent", "volume"
# Who runs a command on the server's machine, without signing in.
_HERE = replace(SYSTEM, via="the server's machine")
# How long a thread may keep the interpreter while others wait for it. A request goes through several threads: with the
# 5 ms that Python has by itself, each step would wait so long whenever a plan is made or an agent's report is taken.
_SWITCH_SECONDS = 0.0005


@dataclass(frozen=True, slots=True)
class Ready:
    """What whoever started the server wants to know. `password` is the administrator's, when it was just made."""

    url: str
    data_dir: Path
    password: str | None
    port_was_taken: bool
    database_copy: Path | None
    # The user's own servers after this start; None: they could not be written.
    known_servers: SavedLogins | None = None
    # How this machine reaches the server, which may be published under another URL.
    local_url: str = ""
    # What an earlier start with an agent left, that nobody looks after while this one goes on without.
    unattended: Sequence[str] = ()
    # Certificates that commands of this machine have to trust (MILL_CA_FILE); None: none but the machine's own.
    trusted: Path | None = None


def serve(
    settings: Settings,
    *,
    port_is_fixed: bool,
    admin_password: str | None = None,
    installed_agent: InstalledAgent | None = None,
    on_ready: Callable[[Ready], None],
    clock: Clock | None = None,
) -> None:
    """Run the server until SIGTERM or SIGINT. SetupError when this machine or directory cannot be used as it is."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    clock = clock or SystemClock()
    hub = EventHub()
    with ExitStack() as stack:
        if tracing.start("millpond-server"):
            stack.callback(tracing.stop)
        stack.enter_context(data_dir.locked(settings.data_dir, clock.now()))
        # First what may be refused: a password that was made but never shown would be of no use.
        certificates = _certificates(settings)
        if certificates is not None:
            settings = replace(settings, tls_name=local_name(settings, certificates.shown))
        listening = stack.enter_context(_listening(settings.host, settings.port, is_fixed=port_is_fixed))
        wanted_port, port = settings.port, listening.getsockname()[1]
        content = stack.enter_context(_listening_for_content(settings, port))
        content_port = content.getsockname()[1]
        prepared = stack.enter_context(
            preparing(settings, hub, clock, admin_password=admin_password, installed_agent=installed_agent)
        )
        settings = replace(settings, port=port, content_port=content_port)
        address = server_processes.address_of(settings, prepared.deps.db)
        deps = replace(prepared.deps, settings=settings, address=address, version=__version__)
        getLogger().addHandler(deps.recent_log)
        stack.callback(getLogger().removeHandler, deps.recent_log)
        url = deps.settings.local_url
        trust = LocalTrust(deps.settings, certificates) if certificates else None
        ready = Ready(
            url=deps.settings.url,
            data_dir=settings.data_dir,
            password=prepared.password,
            port_was_taken=wanted_port not in (0, port),
            database_copy=prepared.database_copy,
            known_servers=_sign_in_command_line(deps, url),
            local_url=url,
            unattended=() if settings.start_agent else _unattended(deps),
            trusted=trust.file if trust else None,
        )
        api = create_app(deps, hub)
        health: Health = api.state.health
        health.watch()
        stack.callback(health.stop)
        app = create_front(deps.settings, TwoOrigins(QuickPoints(api, deps), create_content_app(deps), content_port))

        async def announce() -> None:
            if settings.start_agent:
                await _first_look(deps, hub)
            on_ready(ready)

        listener = Listener(app, hub, tls=certificates.context if certificates else None, on_ready=announce)
        _stop_on_signals(listener)
        leadership = stack.enter_context(beside_others(deps, hub))
        child = _local_agent(deps, url, ready.trusted) if settings.start_agent else None
        loops = _loops(deps)
        if certificates is not None and trust is not None:
            loops = [*loops, _certificate_loop(certificates, trust, child)]
        metrics = api.state.metrics.loops()

        def told(loop: str, seconds: float, failed: bool) -> None:
            metrics.observe(loop, seconds, failed)
            deps.rounds.note(loop, seconds, failed, clock.now())

        runner = LoopRunner(loops, clock=clock, hub=hub, leadership=leadership, told=told)
        runner.start()
        stack.callback(runner.stop)
        if child is not None:
            child.start()
            stack.callback(child.stop)
        listener.run(sockets=[listening, content])


@dataclass(frozen=True, slots=True)
class Prepared:
    deps: Deps
    password: str | None = None
    database_copy: Path | None = None


@contextmanager
def preparing(
    settings: Settings,
    hub: EventHub,
    clock: Clock,
    *,
    admin_password: str | None = None,
    installed_agent: InstalledAgent | None = None,
) -> Iterator[Prepared]:
    """Database migrated, lake opened and owned, first people and places made, records of a crash finished."""
    with closing(Database(settings.database)) as db:
        copy = migrate.prepare(db, clock.now())
        if settings.database_url is None:
            # It holds hashes of passwords. The files SQLite puts beside it take the same mode.
            (settings.data_dir / "millpond.db").chmod(0o600)
        seal = _seal(settings)
        secret = _secret(db, seal, settings, clock.now())
        store = open_store(settings.lake, LocalSigner(secret))
        ownership = lake_owner.claim(db, store, clock.now())
        fence = Fence(store, ownership.epoch, clock.elapsed, remedy=_after_take_over(settings))
        password = setup.populate(db, admin_password=admin_password, now=clock.now())
        if installed_agent is not None:
            setup.let_in(db, installed_agent, clock.now())
        fenced = FencedStore(store, fence)
        deps = Deps(
            db=db, store=fenced, clock=clock, events=hub, settings=settings, secret=secret, fence=fence, seal=seal
        )
        fenced.copies = partial(copies, db, deps.replicas, seal)
        settings.logs_dir.mkdir(exist_ok=True)
        data_dir.keep_private(settings.data_dir, shared=(_AGENT, _VOLUME, TRUSTED_FILE))
        records.finish_pending(deps)
        drift.compare_all(deps, is_new_owner=ownership.is_new)
        lake_owner.settled(db, ownership)
        pending_deletion.take_back(deps)
        keeping.take_back(deps)
        yield Prepared(deps, password, copy)


def reset_password(settings: Settings, name: str, password: str) -> None:
    """For whoever sits at the server's machine and may read its database; the server may be running."""
    with _people_alone(settings) as deps:
        users.reset_password(deps, _HERE, name, password)


def set_local_login(settings: Settings, *, on: bool) -> None:
    """The way back for an administrator whose provider lets nobody in; the server may be running."""
    with _people_alone(settings) as deps:
        providers.set_local_login(deps, _HERE, on=on)


@contextmanager
def _people_alone(settings: Settings) -> Iterator[Deps]:
    """The database of this machine's server, without anything of its lake."""
    if settings.database_url is None and not (settings.data_dir / "millpond.db").is_file():
        raise _no_database()
    with closing(Database(settings.database)) as db:
        _check_is_current(db)
        yield Deps(db, open_store("memory:"), SystemClock(), EventHub(), settings, b"")


def take_over_lake(settings: Settings, *, settle_seconds: float = SETTLE_SECONDS) -> str | None:
    """Make the database of this data directory the owner of the lake; the id of the database that was.

    Returns when the server that owned it has stopped writing.
    """
    clock = SystemClock()
    with data_dir.locked(settings.data_dir, clock.now()), closing(Database(settings.database)) as db:
        migrate.prepare(db, clock.now())
        setup.identify(db, clock.now())
        previous = lake_owner.take_over(db, open_store(settings.lake, _no_signer()), clock.now())
        if previous is not None:
            time.sleep(settle_seconds)
        return previous


def reindex_lake(settings: Settings, *, settle_seconds: float = SETTLE_SECONDS) -> Reindexed:
    """Fill the empty database of this data directory from the lake, and make it the lake's owner.

    What is there is read when the server that owned it has stopped writing.
    """
    clock = SystemClock()
    with data_dir.locked(settings.data_dir, clock.now()), closing(Database(settings.database)) as db:
        migrate.prepare(db, clock.now())
        setup.identify(db, clock.now())
        store = open_store(settings.lake, _no_signer())
        reindex.check_is_empty(db)
        if lake_owner.become_owner(db, store, clock.now()) is not None:
            time.sleep(settle_seconds)
        return reindex.reindex(Deps(db, store, clock, EventHub(), settings, b""))


def _no_signer() -> LocalSigner:
    """For work on the lake that gives nobody a URL: the key of the secret may lie on another machine."""
    return LocalSigner(os.urandom(signing_secret.SECRET_BYTES))


def _seal(settings: Settings) -> Seal:
    # A file that was named must be there: a mistaken name must not pass for a new key.
    return Seal.from_file(settings.secret_key, make=settings.secret_key_file is None)


def _secret(db: Database, seal: Seal, settings: Settings, now: datetime) -> bytes:
    """What this server signs with; another one than before if that was asked for."""
    row = setup.identify(db, now, seal)
    if settings.new_signing_secret:
        with db.write() as tx:
            signing_secret.make(tx, seal, row.database_id, now)
        db.empty_log()
        logger.warning("signing_secret_replaced database=%s", row.database_id)
    return signing_secret.signing_secret(db, seal, now, is_shared=not db.is_sqlite)


def _after_take_over(settings: Settings) -> str:
    """What to type on a server that was fenced off."""
    lake = f" --lake '{settings.lake_url}'" if settings.lake_url else ""
    database = f" --db '{settings.database_url}'" if settings.database_url else ""
    command = f"mill lake take-over --data-dir {settings.data_dir}{database}{lake}"
    return f"Use the other server and stop this one. To make this one the owner again, stop both, then run: {command}"


def _loops(deps: Deps) -> Sequence[Loop]:
    return [
        *schedule.loops(deps),
        *flows.loops(deps),
        *triggers.loops(deps),
        *searches.loops(deps),
        *endpoints.loops(deps),
        *clusters.loops(deps),
        *elastic.loops(deps),
        *housekeeping.loops(deps),
        *logs.loops(deps),
        *notifications.loops(deps),
        *servers.loops(deps),
    ]


@contextmanager
def _listening(host: str, port: int, *, is_fixed: bool, option: str = "--port") -> Iterator[socket.socket]:
    """A socket on the port, or on the next free one unless the port was asked for."""
    last = port if is_fixed or port == 0 else min(port + _PORTS_TO_TRY, _LAST_PORT)
    for candidate in range(port, last + 1):
        try:
            listening = bind(host, candidate)
        except OSError as error:
            problem = error
            continue
        with closing(listening):
            yield listening
        return
    raise SetupError(
        f"Cannot listen on {host} port {port}: {problem.strerror}.",
        hint=f"Stop the program that uses it, or choose another {option} (or --host).",
    ) from problem


def _listening_for_content(settings: Settings, port: int) -> AbstractContextManager[socket.socket]:
    """The second origin's port: the one behind the page's unless another was asked for."""
    if settings.content_port is not None:
        return _listening(settings.host, settings.content_port, is_fixed=True, option="--content-port")
    is_any = settings.port == 0 or port == _LAST_PORT
    return _listening(settings.host, 0 if is_any else port + 1, is_fixed=False, option="--content-port")


def _sign_in_command_line(deps: Deps, url: str) -> SavedLogins | None:
    """Keep a token for the user who started the server. It becomes their current server only if they have none."""
    file = deps.settings.data_dir / data_dir.CLI_TOKEN_FILE
    machine = f"{socket.gethostname()} in {deps.settings.data_dir}"
    token = setup.cli_token(deps.db, data_dir.read_private(file), machine=machine, now=deps.clock.now())
    write_atomically(file, token.encode() + b"\n", mode=0o600)
    try:
        return save_local_token(config_dir(), url, token)
    except (OSError, SetupError) as error:
        # A service account often has no home. The token is in the data directory, too.
        logger.warning("command_line_not_signed_in reason=%s token=%s", error, file)
        return None


def _certificates(settings: Settings) -> ServedCertificates | None:
    if settings.tls:
        loaded = ServedCertificates(settings.tls)
        warn_of_readable_keys(settings.tls)
        return loaded
    if is_open_without_tls(settings):
        logger.warning(
            "no_tls host=%s hint='Passwords cross the network readable: give --tls-cert and --tls-key, or use a proxy'",
            settings.host,
        )
    return None


def _certificate_loop(certificates: ServedCertificates, trust: LocalTrust, agent: Child | None) -> Loop:
    def look(_now: object) -> None:
        if certificates.reload_changed() and trust.renew() and agent is not None:
            agent.restart()

    return Loop("certificates", "certificates", _CERTIFICATES_SECONDS, look)


def _local_agent(deps: Deps, url: str, trusted: Path | None) -> Child:
    state = deps.settings.data_dir / _AGENT
    token_file = state / "token"
    kept, volume = data_dir.read_private(token_file), deps.settings.data_dir / _VOLUME
    token = setup.agent_token(deps.db, kept, deps.clock.now(), volume_path=volume)
    write_atomically(token_file, token.encode() + b"\n", mode=0o600)
    command = [sys.executable, "-m", "millpond", "agent", "--server", url, "--token-file", str(token_file)]
    command += ["--site", setup.LOCAL, "--state-dir", str(state), "--parent-pid", str(os.getpid())]
    if trusted is not None:
        command += ["--ca-file", str(trusted)]
    if deps.settings.gpus is not None:
        command += ["--gpus", str(deps.settings.gpus)]
    if deps.settings.job_uids is not None:
        command += ["--job-uids", deps.settings.job_uids]
    if deps.settings.agent_listen is not None:
        command += ["--listen", deps.settings.agent_listen]
    return Child(command, log=state / "agent.log")


def _unattended(deps: Deps) -> list[str]:
    """Compute and volume of this machine, if an agent of it has run before."""
    if not (deps.settings.data_dir / _AGENT / "token").exists():
        return []
    with deps.db.read() as tx:
        compute, volume = computes.find(tx, setup.LOCAL), volumes.find(tx, setup.LOCAL)
    return [*(["compute"] if compute else []), *(["volume"] if volume else [])]


async def _first_look(deps: Deps, hub: EventHub) -> None:
    """Until the agent of this machine has looked at its volumes: only then can anything be cached or run here.

    A server whose agent does not come is of use all the same, so this ends after a while.
    """
    deadline = time.monotonic() + _FIRST_LOOK_SECONDS
    while not hub.is_closed:
        mark = hub.mark("agents")
        with deps.db.read() as tx:
            site = sites.find(tx, setup.LOCAL)
            seen = site is None or all(one.seen_at is not None for one in volumes.all_of(tx, site.id))
        if seen or not await hub.wait("agents", since=mark, timeout=max(0.0, deadline - time.monotonic())):
            return


def _stop_on_signals(listener: Listener) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, listener.handle_exit)


def _check_is_current(db: Database) -> None:
    if not migrate.is_usable_by_us(db):
        raise _no_database()


def _no_database() -> SetupError:
    return SetupError("No database of this version found.", hint="Run `mill up` once, or check --data-dir.")
