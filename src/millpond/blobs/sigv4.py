"""AWS Signature Version 4 for S3: signed headers, and URLs that are signed.

Written out here, because whatever opens stores for the lake takes keys, tokens and endpoints from the environment
when none are given, and those are the lake's own: no import may ever use them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import quote, urlsplit

_EMPTY = hashlib.sha256(b"").hexdigest()
_UNSIGNED = "UNSIGNED-PAYLOAD"
Query = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Keys:
    """What signs. Neither part is ever shown."""

    id: str
    secret: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def encode_path(key: str) -> str:
    """A key as it stands in a URL and in what is signed."""
    return quote(key, safe="/-_.~")


def encode_query(query: Query) -> str:
    return "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in sorted(query))


def signed_headers(method: str, url: str, query: Query, *, keys: Keys, region: str, now: datetime) -> dict[str, str]:
    """The headers that make this request without a body an allowed one. `url` has no query and an encoded path."""
    parts = urlsplit(url)
    stamp = _stamp(now)
    headers = {"host": parts.netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
    if keys.session_token:
        headers["x-amz-security-token"] = keys.session_token
    scope, signature = _signature(method, parts.path, query, headers, _EMPTY, keys=keys, region=region, stamp=stamp)
    names = ";".join(sorted(headers))
    value = f"AWS4-HMAC-SHA256 Credential={keys.id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**{name: text for name, text in headers.items() if name != "host"}, "Authorization": value}


def signed_url(
    url: str,
    *,
    keys: Keys,
    region: str,
    now: datetime,
    seconds: int,
    method: str = "GET",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A request that anybody may make for so many seconds, if they send these headers (names in lower case)."""
    parts = urlsplit(url)
    stamp = _stamp(now)
    signed = {"host": parts.netloc, **headers}
    query = [
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", f"{keys.id}/{_scope(stamp, region)}"),
        ("X-Amz-Date", stamp),
        ("X-Amz-Expires", str(seconds)),
        ("X-Amz-SignedHeaders", ";".join(sorted(signed))),
    ]
    if keys.session_token:
        query.append(("X-Amz-Security-Token", keys.session_token))
    _, signature = _signature(method, parts.path, query, signed, _UNSIGNED, keys=keys, region=region, stamp=stamp)
    return f"{url}?{encode_query(query)}&X-Amz-Signature={signature}"


def _signature(
    method: str,
    path: str,
    query: Query,
    headers: Mapping[str, str],
    payload: str,
    *,
    keys: Keys,
    region: str,
    stamp: str,
) -> tuple[str, str]:
    names = sorted(headers)
    canonical = "\n".join(
        [
            method,
            path,
            encode_query(query),
            *(f"{name}:{headers[name].strip()}" for name in names),
            "",
            ";".join(names),
            payload,
        ]
    )
    scope = _scope(stamp, region)
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return scope, hmac.digest(key, text.encode(), "sha256").hex()


def _scope(stamp: str, region: str) -> str:
    return f"{stamp[:8]}/{region}/s3/aws4_request"


def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
