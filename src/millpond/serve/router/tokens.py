"""Endpoint tokens, verified without network: `mep_` + base64url(claims) + `.` + base64url(Ed25519 signature).

The signature is over the text before the dot. Claims are JSON: `id`, `endpoint`, `project`, `exp` (seconds since 1970),
`quota` (requests per minute, or null) and `key` (the id of the key that signed). A revoked token is refused from the
moment the configuration names it.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from .config import RouterConfig

PREFIX = "mep_"
_LONGEST = 4096
_MOST_KNOWN = 4096


class TokenRefused(Exception):
    """A token that does not open the endpoint: 401 where another may, 403 where this one is for something else."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class TokenClaims:
    """What a verified token says."""

    id: str
    endpoint: str
    project: str
    expires: float
    quota: int | None
    key: str


class TokenVerifier:
    """Verifies tokens by the keys of one configuration. A signature is checked once, the rest at each request."""

    def __init__(self, config: RouterConfig) -> None:
        self._config = config
        self._known: dict[str, TokenClaims] = {}

    def verify(self, token: str, *, endpoint: str, now: float) -> TokenClaims:
        """The claims of a token that opens this endpoint now. TokenRefused otherwise."""
        claims = self._known.get(token)
        if claims is None:
            claims = self._read(token)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[token] = claims
        if claims.id in self._config.revoked:
            raise TokenRefused(401, "The token was revoked. Create another: mill endpoint token create")
        if claims.expires <= now:
            raise TokenRefused(401, "The token has expired. Create another: mill endpoint token create")
        if claims.endpoint != endpoint or claims.project != self._config.project:
            raise TokenRefused(403, f"The token is for {claims.project}/{claims.endpoint}, not for this endpoint.")
        return claims

    def _read(self, token: str) -> TokenClaims:
        payload, dot, signature = token.partition(".")
        if not token.startswith(PREFIX) or not dot or len(token) > _LONGEST:
            raise TokenRefused(401, f"Not an endpoint token: those begin with {PREFIX}.")
        claims = _claims(payload[len(PREFIX) :])
        key = self._config.keys.get(claims.key)
        if key is None:
            raise TokenRefused(401, "The token was signed with a key that this router does not know.")
        if not _signed(key, _decoded(signature), payload.encode()):
            raise TokenRefused(401, "The signature of the token is wrong.")
        return claims


def _claims(encoded: str) -> TokenClaims:
    try:
        values: dict[str, Any] = json.loads(_decoded(encoded))
        quota = values.get("quota")
        claims = TokenClaims(
            id=values["id"],
            endpoint=values["endpoint"],
            project=values["project"],
            expires=float(values["exp"]),
            quota=int(quota) if quota else None,
            key=values["key"],
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise TokenRefused(401, "The token cannot be read.") from error
    if not all(isinstance(text, str) for text in (claims.id, claims.endpoint, claims.project, claims.key)):
        raise TokenRefused(401, "The token cannot be read.")
    return claims


def _decoded(text: str) -> bytes:
    """The bytes of the one text that stands for them: a last character with bits to spare would be a second token."""
    try:
        found = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise TokenRefused(401, "The token cannot be read.") from error
    if base64.urlsafe_b64encode(found).rstrip(b"=") != text.encode().rstrip(b"="):
        raise TokenRefused(401, "The token cannot be read.")
    return found


def _signed(key: bytes, signature: bytes, payload: bytes) -> bool:
    # Only routers with endpoints that are not public need the package: an environment without it serves public ones.
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    except ImportError as error:
        raise TokenRefused(503, "This router cannot verify tokens: the package cryptography is missing.") from error
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, payload)
    except InvalidSignature:
        return False
    return True
