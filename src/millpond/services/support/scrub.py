"""Takes secrets out of what leaves the server: every value that it knows, as it is and as it may be written elsewhere;
and whatever stands behind a word like `password=`, or between `://` and `@`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from logging import getLogger
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from sqlalchemy import Column, Connection, select

from millpond.data_dir import CLI_TOKEN_FILE
from millpond.db.tables import (
    auth_provider,
    cluster,
    connection,
    flow_trigger,
    lake_replica,
    notification_channel,
    secret,
    signing_key,
    smtp_settings,
)
from millpond.errors import MillError
from millpond.masking import Mask, secrets_of
from millpond.services.deps import Deps

logger = getLogger(__name__)

HIDDEN = b"[removed]"
_LEAST = 4
_LONGEST_FILE = 65_536
# Sealed columns, and what each was sealed for.
SEALED: tuple[tuple[Column[Any], Column[bytes], str], ...] = (
    (secret.c.id, secret.c.value, "secret {}"),
    (connection.c.id, connection.c.credentials, "connection {}"),
    (lake_replica.c.id, lake_replica.c.credentials, "replica {}"),
    (auth_provider.c.id, auth_provider.c.secret, "auth provider {}"),
    (flow_trigger.c.id, flow_trigger.c.secret, "webhook:{}"),
    (cluster.c.id, cluster.c.secret, "cluster {}"),
    (signing_key.c.id, signing_key.c.private, "signing key {}"),
    (notification_channel.c.id, notification_channel.c.sealed, "channel {}"),
    (smtp_settings.c.id, smtp_settings.c.password, "smtp password"),
)
_NAMED = re.compile(
    rb"((?:password|passwd|pwd|secret|token|passphrase|credential|authorization|api[_-]?key|access[_-]?key|private[_-]?key"
    rb"|client[_-]?secret|sig|signature)[a-z0-9_-]*[\"']?\s*(?:=>|=|:)\s*[\"']?(?:bearer\s+|basic\s+)?)(?!\[removed)([^\s\"',;&}\]]+)",
    re.I,
)
_BEARER = re.compile(rb"\b(bearer|basic)\s+[A-Za-z0-9+/=_.~-]{6,}", re.I)
_IN_URL = re.compile(rb"(://)[^\s/@\"']+@")
_PEM = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)
# Of the texts that are not values: numbers and words that end no line of a secret.
_PLAIN = frozenset({b"true", b"false", b"none", b"null", b"yes", b"no", b"set", b"unset", b"[removed]"})


class Scrub:
    """Built once for a bundle from all that is secret here."""

    def __init__(self, secrets: Iterable[str]) -> None:
        written = {form for one in secrets for form in _forms(one) if len(form) >= _LEAST}
        longest_first = sorted(written, key=len, reverse=True)
        self._known = re.compile(b"|".join(re.escape(one) for one in longest_first)) if longest_first else None
        self._mask = Mask()

    def apply(self, data: bytes) -> bytes:
        data = _PEM.sub(HIDDEN, data)
        if self._known is not None:
            data = self._known.sub(HIDDEN, data)
        data = _IN_URL.sub(rb"\1" + HIDDEN + b"@", data)
        data = _BEARER.sub(rb"\1 " + HIDDEN, data)
        data = _NAMED.sub(_without_value, data)
        return self._mask.apply(data)


def known_secrets(deps: Deps, environ: Mapping[str, str]) -> list[str]:
    """Everything secret that this server can name: settings, variables, key files, and all that is sealed."""
    found = [one.decode(errors="replace") for one in secrets_of(environ)]
    settings = deps.settings
    for url in (settings.database_url, settings.lake_url, settings.backup_to, settings.public_url, *environ.values()):
        found += _in_url(url or "")
    files = (
        settings.secret_key, settings.backup_passphrase_file, settings.metrics_token_file,
        settings.data_dir / CLI_TOKEN_FILE, settings.data_dir / "agent" / "token",
        *(pair.key for pair in settings.tls),
    )  # fmt: skip
    for file in files:
        found += _in_file(file)
    found += [deps.secret.hex(), base64.b64encode(deps.secret).decode(), deps.secret.decode("latin-1")]
    with deps.db.read() as tx:
        found += _sealed(tx, deps)
    return [one for one in found if one]


def _sealed(tx: Connection, deps: Deps) -> Iterator[str]:
    for key, column, purpose in SEALED:
        for row in tx.execute(select(key, column).where(column.is_not(None))):
            try:
                opened = deps.seal.open(row[1], purpose.format(row[0]))
            except MillError:  # of another key: nothing that this server says can have it
                logger.info("support_secret_not_opened table=%s id=%s", column.table.name, row[0])
                continue
            yield opened
            yield from _values(opened)


def _values(opened: str) -> Iterator[str]:
    """Those of a sealed document."""
    try:
        document = json.loads(opened)
    except ValueError:
        return
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            yield one


def _in_url(url: str) -> list[str]:
    """Its password, and values of its query: keys of a store stand there."""
    if "://" not in url:
        return []
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return []
    values = [value for name, value in parse_qsl(parts.query) if re.search("key|secret|token|password|sig", name, re.I)]
    return [*([password, unquote(password)] if password else []), *values]


def _in_file(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        text = file.read_bytes()[:_LONGEST_FILE].decode("utf-8", "replace")
    except OSError:
        return []
    lines = [line.strip() for line in text.splitlines()]
    return [text.strip(), *(line for line in lines if not line.startswith("-----"))]


def _forms(text: str) -> set[bytes]:
    """As it may be written: plain, in JSON, in a URL, in base64; of several lines each."""
    lines = {text, *(line.strip() for line in text.splitlines())}
    return {
        form.encode(errors="replace")
        for one in lines
        if one
        for form in (
            one, json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1], quote(one, safe=""), quote(one),
            base64.b64encode(one.encode(errors="replace")).decode(),
        )
    }  # fmt: skip


def _without_value(found: re.Match[bytes]) -> bytes:
    return found[0] if found[2].lower() in _PLAIN or found[2].isdigit() else found[1] + HIDDEN
