"""The secret behind signed URLs, tickets and tokens of jobs: in the database only sealed, its key outside.

Whoever reads a dump of the database can sign nothing. A server of 0.2 reads the secret in the clear: while one may
still run beside newer ones on the same PostgreSQL, the plain value stays for a day. What takes its place signs nothing.
"""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import server
from millpond.db.engine import Database
from millpond.errors import SetupError, Unavailable
from millpond.sealing import Seal
from millpond.services.deps import Deps

logger = getLogger(__name__)

SECRET_BYTES = 32
# By then every server of a rolling upgrade is a new one.
UPGRADE = timedelta(days=1)


def signing_secret(db: Database, seal: Seal, now: datetime, *, is_shared: bool) -> bytes:
    """The secret, which is sealed if it was not. SetupError if it was sealed with another key than this server's.

    `is_shared`: other servers may use the database.
    """
    with db.read() as tx:
        row = server.get(tx)
        sealed = server.sealed_secret(tx)
    assert row is not None  # made at the first start
    if sealed is None:
        with db.write() as tx:
            is_first = server.seal_secret(tx, _seal(seal, row.secret, row.database_id), now)
        if not is_first:
            return signing_secret(db, seal, now, is_shared=is_shared)  # another server was quicker
        _hide(db, now, is_shared=is_shared)
        return row.secret
    _hide(db, now, is_shared=is_shared)
    try:
        return b64decode(seal.open(sealed.secret, _purpose(row.database_id)))
    except Unavailable as error:
        raise SetupError(
            "The database's signing secret was encrypted with another key than this server's.",
            hint="Restore the key file (secret.key, or --secret-key-file). If it is lost: mill up --new-signing-secret",
        ) from error


def move(tx: Connection, seal: Seal, before: str, after: str) -> bool:
    """Seal it for another database id, as after a restore; False if this key does not open it, and nothing changed."""
    sealed = server.sealed_secret(tx)
    if sealed is None:
        return True
    try:
        secret = b64decode(seal.open(sealed.secret, _purpose(before)))
    except Unavailable:
        return False
    server.reseal_secret(tx, _seal(seal, secret, after))
    return True


def hide(deps: Deps, now: datetime) -> None:
    """Housekeeping: overwrite what servers of 0.2 needed, once none can run any more."""
    _hide(deps.db, now, is_shared=not deps.db.is_sqlite)


def make(tx: Connection, seal: Seal, database_id: str, now: datetime) -> None:
    """Another secret than before: URLs and tickets given so far open nothing, agents are given new tokens."""
    made = secrets.token_bytes(SECRET_BYTES)
    server.replace_secret(tx, _seal(seal, made, database_id), secrets.token_bytes(SECRET_BYTES), now)


def _hide(db: Database, now: datetime, *, is_shared: bool) -> None:
    before = now - UPGRADE if is_shared else now
    with db.read() as tx:
        sealed = server.sealed_secret(tx)
    if sealed is None or sealed.is_hidden or sealed.at > before:
        return
    with db.write() as tx:
        server.hide_secret(tx, secrets.token_bytes(SECRET_BYTES))
    db.empty_log()
    logger.info("signing_secret_sealed")


def _seal(seal: Seal, secret: bytes, database_id: str) -> bytes:
    return seal.seal(b64encode(secret).decode(), _purpose(database_id))


def _purpose(database_id: str) -> str:
    return f"server/{database_id}/secret"
