"""Sealed values: what the server said and can recognise later without having kept it, and one-time tickets.

A sealed value is JSON with an expiry and an HMAC under the server's secret. The purpose is part of what is signed, so
a value sealed for one thing never opens another. Every server of one database opens what another one sealed,
and a ticket that was used at one of them is used up at all.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Any

from millpond.db import used_tickets
from millpond.db.engine import Database
from millpond.errors import Forbidden

# Long enough for a slow browser to follow a link, too short for anybody to find it somewhere.
TICKET_SECONDS = 60

_USED = "This ticket was already used or has expired."


def seal(secret: bytes, purpose: str, value: Mapping[str, Any], *, expires: datetime) -> str:
    """Text of letters, digits, `-`, `_` and one `.`: it may stand in a path."""
    body = json.dumps({**value, "expires": expires.timestamp()}, separators=(",", ":")).encode()
    return f"{_encode(body)}.{_encode(_signature(secret, purpose, body))}"


def unseal(secret: bytes, purpose: str, sealed: str, now: datetime) -> dict[str, Any]:
    """What was sealed for this purpose. Forbidden for anything else, and once it has expired."""
    text, _, signature = sealed.partition(".")
    try:
        body, signed = _decode(text), _decode(signature)
    except ValueError:
        raise Forbidden("This address was not created by this server.") from None
    if not hmac.compare_digest(signed, _signature(secret, purpose, body)):
        raise Forbidden("This address was not created by this server.")
    value: dict[str, Any] = json.loads(body)
    if now.timestamp() >= value.pop("expires"):
        raise Forbidden("This address has expired.", hint="Open it again from Millpond's page.")
    return value


def issue(secret: bytes, purpose: str, value: Mapping[str, Any], now: datetime) -> str:
    """A ticket: sealed for a minute, good for one `redeem`."""
    return seal(
        secret, purpose, {**value, "ticket": token_urlsafe(12)}, expires=now + timedelta(seconds=TICKET_SECONDS)
    )


def redeem(secret: bytes, purpose: str, ticket: str, db: Database, now: datetime) -> dict[str, Any]:
    """What the ticket was issued for, once."""
    value = unseal(secret, purpose, ticket, now)
    with db.write() as tx:
        is_first = used_tickets.use(tx, value.pop("ticket"), expires=now + timedelta(seconds=TICKET_SECONDS), now=now)
    if not is_first:
        raise Forbidden(_USED, hint="Open it again from Millpond's page.")
    return value


def _signature(secret: bytes, purpose: str, body: bytes) -> bytes:
    return hmac.new(secret, b"sealed\0" + purpose.encode() + b"\0" + body, hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """ValueError for what `_encode` did not make."""
    data = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    if _encode(data) != text:
        raise ValueError(text)
    return data
