"""Requests to a provider: JSON, short answers, no redirects; every failure is one error that names the provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from millpond.errors import ProviderUnavailable
from millpond.proxy import proxy_for
from millpond.trust import tls_context

_SECONDS = 10.0
_MOST_BYTES = 1 << 20


def ask(
    provider: str,
    method: str,
    url: str,
    *,
    form: Mapping[str, str] | None = None,
    auth: tuple[str, str] | None = None,
    bearer: str | None = None,
) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object of the answer. ProviderUnavailable for none, and for anything else.

    Never inside a transaction.
    """
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    try:
        with (
            httpx.Client(verify=tls_context(), trust_env=False, proxy=proxy_for(url), timeout=_SECONDS) as client,
            client.stream(method, url, data=form, auth=auth, headers=headers) as response,
        ):
            body = _read(response)
            status = response.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise unavailable(provider, f"{url} does not answer ({str(error) or type(error).__name__})") from error
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict) or 300 <= status < 400 or status >= 500:
        raise unavailable(provider, f"{url} answers with status {status} and no JSON object")
    return status, document


def unavailable(provider: str, reason: str) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"The provider {provider!r} cannot be used: {reason}.",
        hint=f"Try again. An administrator can look into it: mill auth provider test {provider}",
    )


def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    for part in response.iter_bytes():
        parts.append(part)
        if sum(map(len, parts)) > _MOST_BYTES:
            raise httpx.TransportError("the answer is too long")
    return b"".join(parts)
