"""Tokens that let programs use one endpoint: signed here, verified by routers without asking (docs/design/025)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from sqlalchemy import Connection

from millpond.db import endpoint_tokens as rows
from millpond.db.endpoint_tokens import SigningKey
from millpond.errors import Forbidden, NotSignedIn
from millpond.model.endpoint import Endpoint, EndpointToken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.endpoints.endpoints import TOPIC, find
from millpond.services.people import access, audit

PREFIX = "mep_"
# What the server itself shows to routers, for people who come through it.
_SERVER_SECONDS = 120
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class NewToken:
    """`secret` is shown once."""

    token: EndpointToken
    secret: str


def create(
    deps: Deps, actor: Actor, project: Project, written: str, *, name: str, seconds: int, quota: int
) -> NewToken:  # fmt: skip
    """A token that is valid for `seconds`, for at most `quota` requests a minute (0: as the endpoint says)."""
    access.require(actor, project, Role.MEMBER)
    check_name(name, "token")
    now = deps.clock.now()
    with deps.db.read() as tx:
        endpoint = find(tx, project, written)
    token = EndpointToken(
        id=new_id(), project_id=project.id, endpoint_id=endpoint.id, name=name, created_by=actor.name, created_at=now,
        expires_at=now + timedelta(seconds=seconds), quota=quota,
    )  # fmt: skip
    secret = _signed(deps, endpoint, token.id, token.expires_at, quota)
    with deps.db.write() as tx:
        rows.insert(tx, token)
        _record(tx, deps, actor, endpoint, "endpoint.token", token, after=audit.values_of(token, "expires_at", "quota"))
    return NewToken(token, secret)


def list_tokens(deps: Deps, actor: Actor, project: Project, written: str) -> Sequence[EndpointToken]:
    """Newest first, also those that were revoked or have expired."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        return rows.of_endpoint(tx, find(tx, project, written).id)


def revoke(deps: Deps, actor: Actor, project: Project, written: str, token: str) -> None:
    """By id or name. Routers refuse it from their next contact on."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.write() as tx:
        endpoint = find(tx, project, written)
        known = rows.of_endpoint(tx, endpoint.id)
        named = [one for one in known if token in (one.id, one.name)]
        if not named:
            raise access.not_found("endpoint token", token, [one.name for one in known])
        for one in named:
            rows.revoke(tx, endpoint.id, deps.clock.now(), one.id)
            _record(tx, deps, actor, endpoint, "endpoint.revoke", one)
    deps.events.wake(TOPIC)


def for_server(deps: Deps, endpoint: Endpoint) -> str:
    """A token of the server's own, for one request that it passes on."""
    return _signed(deps, endpoint, "server", deps.clock.now() + timedelta(seconds=_SERVER_SECONDS), 0)


def verify(deps: Deps, secret: str, project: str, endpoint: str) -> None:
    """NotSignedIn for a token that is none, has expired or was revoked, Forbidden for that of another endpoint."""
    claims = _claims(deps, secret)
    if float(claims.get("exp", 0)) <= deps.clock.now().timestamp():
        raise NotSignedIn("The token has expired.", hint="Create another: mill endpoint token create")
    if (claims.get("project"), claims.get("endpoint")) != (project, endpoint):
        raise Forbidden("The token is for another endpoint.")
    with deps.db.read() as tx:
        if rows.is_revoked(tx, str(claims.get("id"))):
            raise NotSignedIn("The token was revoked.", hint="Create another: mill endpoint token create")


def _claims(deps: Deps, secret: str) -> Mapping[str, Any]:
    """What a token says that one of this server's keys has signed."""
    refused = NotSignedIn("This is not a token of an endpoint here.", hint="mill endpoint token create")
    payload, dot, signature = secret.partition(".")
    if not dot or len(secret) > _LONGEST:
        raise refused
    with deps.db.read() as tx:
        keys = rows.public_keys(tx)
    try:
        found: dict[str, Any] = json.loads(_decoded(payload.removeprefix(PREFIX)))
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(keys[found["key"]]))
        public.verify(_decoded(signature), payload.encode())
    except (ValueError, KeyError, TypeError, InvalidSignature) as error:
        raise refused from error
    return found


def _signed(deps: Deps, endpoint: Endpoint, token_id: str, expires_at: datetime, quota: int) -> str:
    key = signing_key(deps)
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(deps.seal.open(key.private, _purpose(key.id))))
    claims = {
        "id": token_id, "endpoint": endpoint.name, "project": endpoint.project, "exp": int(expires_at.timestamp()),
        "quota": quota or None, "key": key.id,
    }  # fmt: skip
    payload = PREFIX + _encoded(json.dumps(claims, separators=(",", ":")).encode())
    return f"{payload}.{_encoded(private.sign(payload.encode()))}"


def signing_key(deps: Deps) -> SigningKey:
    """The newest, made if there is none. Two servers may both make one: routers know all."""
    with deps.db.read() as tx:
        known = rows.keys(tx)
    if known:
        return known[-1]
    private, key_id = Ed25519PrivateKey.generate(), new_id()
    sealed = deps.seal.seal(base64.b64encode(private.private_bytes_raw()).decode(), _purpose(key_id))
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    key = SigningKey(key_id, public, sealed, deps.clock.now())
    with deps.db.write() as tx:
        rows.insert_key(tx, key)
    return key


def _purpose(key_id: str) -> str:
    return f"signing key {key_id}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _record(
    tx: Connection, deps: Deps, actor: Actor, endpoint: Endpoint, action: str, token: EndpointToken, *,
    after: dict[str, object] | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{endpoint.project}/{endpoint.name}",
        project_id=endpoint.project_id, details={"endpoint": endpoint.id, "token": token.id, "name": token.name},
        after=after,
    )  # fmt: skip
