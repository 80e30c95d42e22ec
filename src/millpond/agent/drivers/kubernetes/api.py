"""The few calls of the Kubernetes API that the driver makes, as plain HTTPS.

Not the official client: it takes 40 MB of memory and most of a second to load for seven calls, and its models drop
fields that they do not know, while here objects are what the server says.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

from millpond import __version__
from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.kubernetes.access import Access
from millpond.proxy import proxy_for

Object = dict[str, Any]

TIMEOUT_SECONDS = 15.0
# Lists come in pieces of this size: a large cluster has thousands of events.
PIECE = 500


class Refused(OSError):
    """The API server has understood and says no."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class KubeApi:
    """Raises Refused for what the API server refuses, EngineAway when it does not answer or says to come again."""

    def __init__(self, access: Access, transport: httpx.BaseTransport | None = None) -> None:
        self._access = access
        self._client = httpx.Client(
            base_url=access.url,
            verify=access.tls,
            timeout=TIMEOUT_SECONDS,
            headers={"User-Agent": f"millpond-agent/{__version__}", "Accept": "application/json"},
            transport=transport,
            proxy=proxy_for(access.url),
            trust_env=False,
        )

    @property
    def access(self) -> Access:
        return self._access

    def ask(self, path: str, body: Object) -> Object:
        """What the API server makes of a question that leaves nothing behind."""
        return self._send("POST", path, json=body)

    def list(self, path: str, **selectors: str) -> list[Object]:
        """All objects of a collection that fit `labelSelector` and `fieldSelector`."""
        found: list[Object] = []
        more = ""
        while True:
            answer = self._send("GET", path, params={"limit": str(PIECE), "continue": more, **selectors})
            found += answer.get("items") or []
            more = answer["metadata"].get("continue") or ""
            if not more:
                return found

    def get(self, path: str) -> Object | None:
        """None if there is no such object, or no such kind."""
        try:
            return self._send("GET", path)
        except Refused as error:
            if error.code != httpx.codes.NOT_FOUND:
                raise
        return None

    def change(self, path: str, part: Object) -> None:
        """Merge `part` into an object."""
        content = json.dumps(part).encode()
        self._send("PATCH", path, content=content, headers={"Content-Type": "application/merge-patch+json"})

    def create(self, path: str, body: Object) -> bool:
        """False when there is one of this name already."""
        try:
            self._send("POST", path, json=body)
        except Refused as error:
            if error.code == httpx.codes.CONFLICT:
                return False
            raise
        return True

    def delete(self, path: str) -> None:
        """And what it made, its pods; one that is not there is success."""
        try:
            self._send("DELETE", path, json={"propagationPolicy": "Background"})
        except Refused as error:
            if error.code != httpx.codes.NOT_FOUND:
                raise

    def close(self) -> None:
        self._client.close()

    def _send(self, method: str, path: str, **request: Any) -> Object:
        token = self._access.token()
        headers = {**request.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            answer = self._client.request(method, path, headers=headers, **request)
            # What there is nothing of, not even a group of the API, is not found in plain text.
            body = answer.json() if answer.status_code != httpx.codes.NOT_FOUND else answer.text
        except (httpx.HTTPError, ValueError) as error:
            raise EngineAway(f"{self._access.url}: {error or type(error).__name__}") from error
        if answer.is_success and isinstance(body, dict):
            return body
        message = str(body.get("message") if isinstance(body, dict) else body).strip()
        # Too many requests, a server that starts, and a credential that is being renewed all pass.
        if answer.status_code in (401, 408, 429) or answer.is_server_error:
            raise EngineAway(f"{self._access.url}: {answer.status_code} {message}")
        raise Refused(answer.status_code, message)
