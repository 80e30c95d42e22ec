"""One tar.gz with what support needs to see of this server. Every byte of it goes through the scrub."""

from __future__ import annotations

import io
import json
import os
import platform
import socket
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from importlib.metadata import distributions
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from millpond.db import backup_runs, migrate
from millpond.db.tables import agent, compute, job, lake_replica, metadata, mirror, node, site, source, volume
from millpond.decide.audit_values import plain, values_of
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.doctor import Check
from millpond.services.people import audit
from millpond.services.server_processes import living
from millpond.services.support.scrub import Scrub, known_secrets

_LOG_BYTES = 2_000_000
_SHOWN = 50
_README = """Millpond support bundle
=======================

Made {now} on {host}, version {version}, by {by}.

doctor.json       what `mill doctor --server` says
versions.json     Millpond, Python, the operating system, installed packages
settings.json     what the server was started with
environment.json  names of its environment variables; values only of those of Millpond
server.log        the newest lines of its log
agent.log         the end of the log of the agent that it started
metrics.txt       what /metrics shows
database.json     kind, migrations, rows in each table
failures.json     failing sources, mirrors, replicas, volumes and backups, and the jobs that failed last
agents.json       computes, their agents and nodes
servers.json      the servers that share the database

Secrets were removed: passwords, keys, tokens, credentials of connections, providers and replicas, secrets of
projects, and whatever looks like one ([removed] or ***). No data of datasets, no commands, no variables and no logs of
jobs are inside. Names of projects, sources, volumes, computes and hosts are. Look through it before you send it.
"""


def make(
    deps: Deps, actor: Actor, *, checks: Sequence[Check], metrics: Callable[[], bytes],
    environ: Mapping[str, str] = os.environ,
) -> bytes:  # fmt: skip
    """The archive. What cannot be told says why in its place."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        audit.record(tx, now=now, actor=actor, action="support.bundle", subject="server")
    scrub = Scrub(known_secrets(deps, environ))
    told = [{**values_of(one, "name", "message", "hint"), "level": one.level} for one in checks]
    readme = _README.format(now=now.isoformat(), host=socket.gethostname(), version=deps.version, by=actor.name)
    parts: dict[str, Callable[[], bytes]] = {
        "README.txt": readme.encode,
        "doctor.json": lambda: _json({"checks": told}),
        "versions.json": lambda: _json(_versions(deps)),
        "settings.json": lambda: _json(_settings(deps)),
        "environment.json": lambda: _json(_environment(environ)),
        "server.log": lambda: "\n".join(deps.recent_log.lines()).encode(errors="replace"),
        "agent.log": lambda: _end_of_agent_log(deps),
        "metrics.txt": metrics,
        "database.json": lambda: _json(_read(deps, _database)),
        "failures.json": lambda: _json(_read(deps, _failures)),
        "agents.json": lambda: _json(_read(deps, _agents)),
        "servers.json": lambda: _json([values_of(one, "host", "url", "version", "seen_at") for one in living(deps)]),
    }
    return _archive({name: scrub.apply(_safely(part)) for name, part in parts.items()}, now)


def name_of(now: datetime) -> str:
    return f"millpond-support-{now:%Y%m%dT%H%M%SZ}"


def _archive(files: Mapping[str, bytes], now: datetime) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{name_of(now)}/{name}")
            info.size, info.mode, info.mtime = len(data), 0o600, int(now.timestamp())
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _safely(part: Callable[[], bytes]) -> bytes:
    try:
        return part()
    except (OSError, SQLAlchemyError, ValueError) as error:
        return f"Not available: {error}".encode()


def _json(document: Any) -> bytes:
    return json.dumps(plain(document), indent=1, ensure_ascii=False).encode(errors="replace")


def _versions(deps: Deps) -> dict[str, Any]:
    packages = {one.metadata["Name"]: one.version for one in distributions()}
    return {
        "millpond": deps.version, "python": sys.version, "system": platform.platform(), "machine": platform.machine(),
        "cpus": os.cpu_count(), "packages": dict(sorted(packages.items())),
    }  # fmt: skip


def _settings(deps: Deps) -> dict[str, Any]:
    settings = deps.settings
    found = {one.name: getattr(settings, one.name) for one in fields(settings)}
    return {name: str(value) if isinstance(value, os.PathLike) else value for name, value in found.items()}


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Values of Millpond's own variables; of all others somebody else decides what is secret."""
    return {name: value if name.startswith("MILL_") else "set" for name, value in sorted(environ.items())}


def _end_of_agent_log(deps: Deps) -> bytes:
    file = deps.settings.data_dir / "agent" / "agent.log"
    if not file.exists():
        return b"This server starts no agent."
    with file.open("rb") as log:
        log.seek(max(0, file.stat().st_size - _LOG_BYTES))
        data = log.read(_LOG_BYTES)
    # A line that was cut in the middle of a secret would not be known as one.
    return data if len(data) < _LOG_BYTES else data.partition(b"\n")[2]


def _read(deps: Deps, tell: Callable[[Connection, Deps], Any]) -> Any:
    with deps.db.read() as tx:
        return tell(tx, deps)


def _database(tx: Connection, deps: Deps) -> dict[str, Any]:
    rows = {table.name: tx.scalar(select(func.count()).select_from(table)) for table in metadata.sorted_tables}
    kind = "sqlite" if deps.db.is_sqlite else "postgresql"
    return {"kind": kind, "revision": migrate.current_revision(tx), "expected": migrate.HEAD, "rows": rows}


def _failures(tx: Connection, deps: Deps) -> dict[str, Any]:
    def rows(*columns: Any, where: Any, order: Any) -> list[dict[str, Any]]:
        found = tx.execute(select(*columns).where(where).order_by(order.desc()).limit(_SHOWN))
        return [dict(row._mapping) for row in found]

    s, m, j, v, r = source.c, mirror.c, job.c, volume.c, lake_replica.c
    runs = [one for one in backup_runs.latest(tx, limit=_SHOWN) if one.problem]
    return {
        "sources": rows(s.id, s.name, s.failures, s.problem, where=s.failures > 0, order=s.failures),
        "mirrors": rows(m.id, m.name, m.failures, m.problem, where=m.failures > 0, order=m.failures),
        "volumes": rows(v.id, v.name, v.problem, where=v.problem.is_not(None), order=v.name),
        "lake_replicas": rows(r.id, r.name, r.problem, where=r.problem.is_not(None), order=r.name),
        "jobs": rows(
            j.id, j.state, j.problem, j.signal, j.exit_code, j.ended_at, where=j.state == "failed", order=j.ended_at
        ),
        "backups": [values_of(one, "id", "work", "state", "asked_at", "problem") for one in runs],
        "loops": deps.rounds.by_loop(),
    }


def _agents(tx: Connection, deps: Deps) -> list[dict[str, Any]]:
    query = (
        select(
            compute.c.name, site.c.name.label("site"), compute.c.driver, compute.c.capabilities, compute.c.cordoned_at,
            compute.c.id, agent.c.version, agent.c.seen_at, agent.c.revoked_at,
        )
        .join(site, site.c.id == compute.c.site_id)
        .outerjoin(agent, agent.c.id == compute.c.agent_id)
        .where(compute.c.detached_at.is_(None))
        .order_by(compute.c.name)
    )  # fmt: skip
    n = node.c
    columns = (n.name, n.cpus, n.memory_bytes, n.gpus, n.gpu_model, n.labels, n.left_at, n.closed)
    found = [dict(row._mapping) for row in tx.execute(query)]
    for one in found:
        nodes = tx.execute(select(*columns).where(n.compute_id == one["id"]).order_by(n.name).limit(1_000))
        one["nodes"] = [dict(row._mapping) for row in nodes]
    return found
