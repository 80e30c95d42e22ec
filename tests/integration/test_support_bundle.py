"""The support bundle: what support needs is inside, and none of the secrets that were put everywhere."""

from __future__ import annotations

import base64
import gzip
import io
import json
import logging
import tarfile
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import LargeBinary

from millpond.db.tables import (
    auth_provider,
    backup_run,
    connection,
    flow_trigger,
    lake_replica,
    metadata,
    notification_channel,
    secret,
    smtp_settings,
)
from millpond.model.people import SYSTEM, Role
from millpond.services.support import bundle
from millpond.services.support.scrub import SEALED, Scrub
from millpond.testing.clock import FakeClock
from millpond.testing.every_table import fill_every_table
from millpond.testing.server import RunningServer, running_server

# Each in a place of its own, with characters that are written differently in URLs and JSON.
PLACES = (
    "database-url", "lake-query", "backup-query", "environment", "environment-url", "key-file", "passphrase-file",
    "metrics-token-file", "agent-token-file", "project-secret", "connection", "replica", "provider", "webhook",
    "log-named", "log-url", "log-bearer", "agent-log", "problem-of-source", "tls-key", "channel", "mail-server",
)  # fmt: skip
CANARIES = {place: f'Canary/{number:02}+"{place}"é' for number, place in enumerate(PLACES)}
PLAIN = {place: f"canary{number:02}{place.replace('-', '')}x" for number, place in enumerate(PLACES)}


def forms(value: str) -> list[bytes]:
    plain = (value, quote(value, safe=""), json.dumps(value)[1:-1], base64.b64encode(value.encode()).decode())
    return [form.encode() for form in plain]


def contents(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {one.name.partition("/")[2]: tar.extractfile(one) for one in tar}
        return {name: file.read() for name, file in files.items() if file is not None}


@pytest.mark.parametrize("canaries", [CANARIES, PLAIN], ids=["awkward", "plain"])
def test_no_secret_is_in_it(tmp_path: Path, canaries: dict[str, str]) -> None:
    data_dir = tmp_path / "data"
    with running_server(data_dir, clock=FakeClock()) as server:
        deps = server.deps
        for name, place in (("secret.key", "key-file"), ("passphrase", "passphrase-file"), ("m", "metrics-token-file")):
            (data_dir / name).write_text(canaries[place] + "\n")
        (data_dir / "agent").mkdir()
        (data_dir / "agent" / "token").write_text(canaries["agent-token-file"])
        named = f"token={quote(canaries['agent-log'], safe='')} and {canaries['project-secret']}"
        (data_dir / "agent" / "agent.log").write_text(f"agent started\n{named}\n")
        settings = replace(
            deps.settings,
            database_url=f"postgresql://mill:{quote(canaries['database-url'], safe='')}@db.example/mill",
            lake_url=f"s3://bucket/x?endpoint=https://s3.example&secret_key={quote(canaries['lake-query'], safe='')}",
            backup_to=f"s3://bucket/y?access_key={quote(canaries['backup-query'], safe='')}",
            backup_passphrase_file=data_dir / "passphrase", metrics_token_file=data_dir / "m",
        )  # fmt: skip
        environ = {
            "AWS_SECRET_ACCESS_KEY": canaries["environment"],
            "MILL_ADMIN_PASSWORD": canaries["environment"],
            "HTTPS_PROXY": f"http://me:{quote(canaries['environment-url'], safe='')}@proxy.example:3128",
            "MILL_DATABASE_URL": settings.database_url or "",
            "MILL_NEAR": "10Gbit/s",
        }
        seal_everything(server, canaries)
        for line in (
            f"password={quote(canaries['log-named'], safe='')}",
            f"cannot reach https://user:{quote(canaries['log-url'], safe='')}@host/x",
            f"Authorization: Bearer {quote(canaries['log-bearer'], safe='')}",
            f"refused: {canaries['connection']} {canaries['provider']} {canaries['database-url']}",
            "-----BEGIN PRIVATE KEY-----\n" + canaries["tls-key"] + "\n-----END PRIVATE KEY-----",
            "all is well",
        ):
            deps.recent_log.emit(logging.LogRecord("test", logging.INFO, "", 0, line, (), None))
        told = replace(deps, settings=settings)
        data = bundle.make(
            told, SYSTEM, checks=(), environ=environ,
            metrics=lambda: f'up{{url="https://u:{quote(canaries["database-url"], safe="")}@h"}} 1\n'.encode(),
        )  # fmt: skip
    raw = [data, gzip.decompress(data), *contents(data).values()]
    leaked = {place for place, value in canaries.items() for form in forms(value) if any(form in one for one in raw)}
    assert leaked == set()
    found = contents(data)
    assert b"Not available" not in found["failures.json"] + found["agents.json"] + found["database.json"]
    assert b"all is well" in found["server.log"] and b"agent started" in found["agent.log"]
    assert b"db.example" in found["settings.json"] and b"10Gbit/s" in found["environment.json"]
    assert deps.secret not in b"".join(raw)


def seal_everything(server: RunningServer, canaries: dict[str, str]) -> None:
    """A row in every table, those with sealed columns with canaries in them."""
    seal = server.deps.seal
    with server.deps.db.write() as tx:
        fill_every_table(tx, rows=1)
        tx.execute(backup_run.delete())  # no such states
        keys = json.dumps({"key_id": "id", "secret": canaries["connection"]})
        for table, column, purpose, value in (
            (secret, "value", "secret {}", canaries["project-secret"]),
            (connection, "credentials", "connection {}", keys),
            (lake_replica, "credentials", "replica {}", json.dumps({"secret": canaries["replica"]})),
            (auth_provider, "secret", "auth provider {}", canaries["provider"]),
            (flow_trigger, "secret", "webhook:{}", canaries["webhook"]),
            (notification_channel, "sealed", "channel {}", json.dumps({"url": "x", "secret": canaries["channel"]})),
            (smtp_settings, "password", "smtp password", canaries["mail-server"]),
        ):
            for row in tx.execute(table.select()).all():
                sealed = seal.seal(value, purpose.format(row.id))
                tx.execute(table.update().where(table.c.id == row.id).values({column: sealed}))
        problem = f"403 for {canaries['replica']} and {canaries['webhook']}, secret: {canaries['problem-of-source']}"
        problem += f" {canaries['channel']} {canaries['mail-server']}"
        tx.execute(lake_replica.update().values(problem=problem.replace(canaries["problem-of-source"], "x")))


def test_everything_sealed_is_known() -> None:
    """A new column with a secret belongs to what is removed, or here with the reason why it cannot show up anywhere."""
    elsewhere = {
        "server.secret", "server.sealed_secret",  # the server's own, which it holds in memory
        "session.sign_out", "request_key.body",  # written and read by one request, and never logged
    }  # fmt: skip
    names = {"secret", "sealed", "sealed_secret", "credentials", "password", "private", "value", "sign_out", "body"}
    sealed = {
        str(column) for table in metadata.sorted_tables for column in table.c
        if column.name in names and isinstance(column.type, LargeBinary)
    }  # fmt: skip
    assert sealed - elsewhere == {str(column) for _, column, _ in SEALED}


def test_what_support_needs_is_inside(tmp_path: Path) -> None:
    with running_server(tmp_path, clock=FakeClock()) as server:
        answer = server.admin.post("/support-bundle")
        assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/gzip"
        newest = server.admin.get("/audit").json()["items"][0]
        boss = server.user("boss", roles={"default": Role.ADMIN})
        assert boss.post("/support-bundle").status_code == 403
    found = contents(answer.content)
    listed = found["README.txt"].decode()
    assert found.keys() == {name for name in found if name == "README.txt" or f"\n{name} " in listed}
    assert newest["action"] == "support.bundle"
    assert "database" in {one["name"] for one in json.loads(found["doctor.json"])["checks"]}
    assert json.loads(found["database.json"])["rows"]["user_account"] == 1
    assert "fastapi" in json.loads(found["versions.json"])["packages"]
    assert json.loads(found["settings.json"])["data_dir"] == str(tmp_path)
    assert b"millpond_server_info" in found["metrics.txt"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"password=hunter2 host=a", b"password=[removed] host=a"),
        (b'"client_secret": "abcdefgh", "issuer": "x"', b'"client_secret": "[removed]", "issuer": "x"'),
        (b"postgresql://mill:pw@db/x", b"postgresql://[removed]@db/x"),
        (b"Authorization: Bearer abcdefghijkl", b"Authorization: [removed] [removed]"),
        (b"got bearer abcdefghijkl", b"got bearer [removed]"),
        (b"has_secret: true, tokens: 3", b"has_secret: true, tokens: 3"),
        (b"a token of ada", b"a token of ada"),
    ],
)
def test_what_looks_like_a_secret_is_removed(text: bytes, kept: bytes) -> None:
    assert Scrub([]).apply(text) == kept
