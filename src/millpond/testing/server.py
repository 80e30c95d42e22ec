"""A whole server for tests: the real application on a free port of this machine, in a thread of the test's process.

    with running_server(tmp_path) as server:
        maria = server.user("maria", roles={"default": Role.MEMBER})
        assert maria.get("/projects/default").status_code == 200

For tests of services alone, `making_deps` gives the same database and lake without HTTP.
"""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import httpx
from fastapi import APIRouter, FastAPI
from sqlalchemy import Engine, event
from sqlalchemy.pool import ConnectionPoolEntry
from starlette.routing import BaseRoute

from millpond.api.content import create_content_app
from millpond.api.front import create_front
from millpond.api.listener import Listener, bind
from millpond.api.origins import TwoOrigins
from millpond.api.quick_points import QuickPoints
from millpond.api.server import PREFIX, ROUTERS, create_app
from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.db import projects, server, users
from millpond.db.engine import Database
from millpond.db.server import ServerRow
from millpond.db.tables import metadata
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM, Project, Role, TokenKind, User
from millpond.server_tls import ServedCertificates
from millpond.services.deps import Clock, Deps, Events, SystemClock
from millpond.services.events import EventHub
from millpond.services.people import projects as project_service
from millpond.services.people import tokens
from millpond.services.people import users as user_service
from millpond.services.server_processes import beside_others
from millpond.settings import KeyPair, Settings

ADMIN = "admin"
PASSWORD = "correct horse battery"
SECRET = b"a secret for tests, 32 bytes lng"
# Hashing a password takes 30 ms; people made by `user()` who never sign in with one need none.
NO_PASSWORD = ""


@dataclass
class RunningServer:
    """`url` is where it listens; clients have `/api/v1` as their base."""

    url: str
    deps: Deps
    hub: EventHub
    app: FastAPI
    _closing: ExitStack = field(repr=False)
    certificates: ServedCertificates | None = None

    @property
    def admin(self) -> httpx.Client:
        """A site administrator's client."""
        return self.client(self.token_of(ADMIN))

    def client(self, token: str | None = None) -> httpx.Client:
        """A client with this token, or without any. Closed with the server."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # No certificates are needed on plain HTTP, and loading them takes longer than most tests.
        client = httpx.Client(
            base_url=f"{self.url}{PREFIX}", headers=headers, trust_env=False, timeout=30, verify=False
        )
        return self._closing.enter_context(client)

    def user(self, name: str, *, roles: Mapping[str, Role] | None = None, is_admin: bool = False) -> httpx.Client:
        """A new user without a password, with these roles (project names, made if need be); their client."""
        for project in roles or {}:
            self.project(project)
        add_user(self.deps, name, roles=roles, is_admin=is_admin)
        return self.client(self.token_of(name))

    def token_of(self, user_name: str) -> str:
        with self.deps.db.write() as tx:
            user = users.find(tx, user_name)
            assert user is not None, user_name
            return tokens.add(tx, TokenKind.USER, name="test", now=self.deps.clock.now(), user_id=user.id)[1]

    def project(self, name: str) -> Project:
        """The project of that name, made if need be."""
        with self.deps.db.read() as tx:
            found = projects.find(tx, name)
        return found or project_service.create(self.deps, SYSTEM, name=name)


@contextmanager
def running_server(
    data_dir: Path,
    *,
    clock: Clock | None = None,
    store: BlobStore | None = None,
    database_url: str | None = None,
    lake_url: str | None = None,
    import_hosts: str = "",
    public_url: str | None = None,
    trusted_proxies: str = "",
    tls: Sequence[KeyPair] = (),
    backup_to: Path | None = None,
    backup_passphrase_file: Path | None = None,
    routers: Sequence[APIRouter] = ROUTERS,
    is_one_of_several: bool = False,
) -> Iterator[RunningServer]:
    """The application with user `admin` (no password) and project `default`, on SQLite and a lake in memory.

    `lake_url` is what the settings say; the lake itself is `store`. `is_one_of_several` servers on one PostgreSQL tell
    each other what happens.
    """
    hub = EventHub()
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    content = bind("127.0.0.1", 0)
    content_port = content.getsockname()[1]
    settings = Settings(
        data_dir=data_dir,
        port=port,
        content_port=content_port,
        database_url=database_url,
        lake_url=lake_url,
        import_hosts=import_hosts,
        public_url=public_url,
        trusted_proxies=trusted_proxies,
        tls=tls,
        backup_to=None if backup_to is None else str(backup_to),
        backup_passphrase_file=backup_passphrase_file,
        start_agent=False,
    )
    with making_deps(settings, clock=clock, store=store, events=hub) as deps, ExitStack() as closing:
        if is_one_of_several:
            deps = replace(deps, address=settings.local_url)
            closing.enter_context(beside_others(deps, hub))
        app = create_app(deps, hub, routers=routers)
        if routers is ROUTERS:
            _share_routes(app)
        both = TwoOrigins(QuickPoints(app, deps), create_content_app(deps), content_port)
        certificates = ServedCertificates(tls) if tls else None
        listener = _QuickListener(create_front(settings, both), hub, tls=certificates.context if certificates else None)
        sockets = [listening, content]
        thread = threading.Thread(target=listener.run, kwargs={"sockets": sockets}, name="test server")
        thread.start()
        try:
            yield RunningServer(settings.local_url, deps, hub, app, closing, certificates)
        finally:
            closing.close()
            listener.should_exit = True
            thread.join(10)
            listening.close()
            content.close()


@contextmanager
def making_deps(
    settings: Settings,
    *,
    clock: Clock | None = None,
    store: BlobStore | None = None,
    events: Events | None = None,
) -> Iterator[Deps]:
    """Dependencies for tests of services: an empty database with user `admin` (no password) and project `default`, or
    the PostgreSQL that another server of the test has begun."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    if settings.database_url is None:
        copy_empty_database(settings.data_dir / "millpond.db")
    db = Database(settings.database)
    share_compiled(db.engine)
    if db.is_sqlite:
        event.listen(db.engine, "connect", _without_waiting_for_the_disk)
    try:
        if settings.database_url is not None:
            metadata.create_all(db.engine)
        deps = Deps(
            db=db,
            store=store or MemoryStore(LocalSigner(SECRET)),
            clock=clock or SystemClock(),
            events=events or EventHub(),
            settings=settings,
            secret=SECRET,
        )
        with db.read() as tx:
            is_new = server.get(tx) is None
        if is_new:
            with db.write() as tx:
                server.insert(tx, ServerRow(new_id(), None, SECRET, deps.clock.now()))
            project_service.create(deps, SYSTEM, name="default")
            add_user(deps, ADMIN, roles={"default": Role.ADMIN}, is_admin=True)
        yield deps
    finally:
        db.close()


def add_user(
    deps: Deps, name: str, *, roles: Mapping[str, Role] | None = None, is_admin: bool = False, password: str = ""
) -> User:
    """A user with roles in projects that exist. Without a password nobody can sign in with one; tokens work."""
    if password:
        user = user_service.create(deps, SYSTEM, name=name, password=password, is_admin=is_admin)
    else:
        user = User(new_id(), name, "", is_admin, deps.clock.now())
        with deps.db.write() as tx:
            users.insert(tx, user, password_hash=NO_PASSWORD)
    with deps.db.write() as tx:
        for project_name, role in (roles or {}).items():
            project = projects.find(tx, project_name)
            assert project is not None, project_name
            projects.set_role(tx, project.id, user.id, role)
    return user


def _without_waiting_for_the_disk(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    """Tests need no power cuts, and are several times as fast without."""
    connection.execute("PRAGMA synchronous=OFF")


_FIRST_ENGINES: dict[str, Engine] = {}


def share_compiled(engine: Engine) -> None:
    """Each engine keeps the SQL that it made of statements. For one test alone, that is a third of all it does."""
    first = _FIRST_ENGINES.setdefault(engine.dialect.name, engine)
    # What was made is kept by dialect.
    engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache


def copy_empty_database(file: Path) -> None:
    """An SQLite database with all tables and no rows: copying one takes a fiftieth of the time of making one."""
    file.write_bytes(_empty_database())


@cache
def _empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "empty.db"
        db = Database(f"sqlite:///{file}")
        metadata.create_all(db.engine)
        # The last connection to be closed moves everything from the write-ahead log into the file.
        db.close()
        return file.read_bytes()


_SHARED_ROUTES: dict[int, BaseRoute] = {}


def _share_routes(app: FastAPI) -> None:
    """FastAPI works a router's routes out at the first request, which takes longer than most tests: once is enough."""
    for place, route in enumerate(app.router.routes):
        router = getattr(route, "original_router", None)
        if any(router is one for one in ROUTERS):
            app.router.routes[place] = _SHARED_ROUTES.setdefault(id(router), route)


class _QuickListener(Listener):
    """Stops at once when nobody is connected, instead of at uvicorn's next tick."""

    async def main_loop(self) -> None:
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for listening in self.servers:
            listening.close()
            await listening.wait_closed()
