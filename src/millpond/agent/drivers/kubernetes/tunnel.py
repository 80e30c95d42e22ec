"""The agent's far end in a job's pod: the API's `exec` over a WebSocket, as every server since 1.20 speaks it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from millpond.agent.drivers.kubernetes import explain
from millpond.agent.drivers.kubernetes.access import Access
from millpond.agent.drivers.kubernetes.api import KubeApi
from millpond.proxy import proxy_for

# The first byte of a message says which stream the others belong to.
_PROTOCOL = Subprotocol("v4.channel.k8s.io")
_INPUT, _OUTPUT, _ERRORS, _STATUS = range(4)
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
OPEN_SECONDS = 15.0
# Proxies forget connections that rest. Whether it is answered does not matter: a pod that reads slowly answers late.
PING_SECONDS = 30.0


class PodStream:
    """Input and output of a program in a pod. Its input ends with the connection."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._errors = b""

    async def read(self) -> bytes:
        while True:
            try:
                message = await self._socket.recv()
            except ConnectionClosed:
                return b""
            data = message.encode() if isinstance(message, str) else message
            channel, rest = data[0], data[1:]
            if channel == _OUTPUT and rest:
                return rest
            if channel == _ERRORS:
                self._errors = (self._errors + rest)[-1000:]
            elif channel == _STATUS:
                return self._ended(json.loads(rest))

    async def write(self, data: bytes) -> None:
        try:
            await self._socket.send(bytes([_INPUT]) + data)
        except ConnectionClosed as error:
            raise ConnectionError("The stream into the pod is closed.") from error

    async def close(self) -> None:
        await self._socket.close()

    def _ended(self, status: dict[str, Any]) -> bytes:
        if status.get("status") == "Success":
            return b""
        said = self._errors.decode(errors="replace").strip().splitlines()
        raise ConnectionError(said[-1] if said else str(status.get("message")))


def may_enter_pods(api: KubeApi, namespace: str) -> bool:
    """Whether this agent may run programs in pods, as the API server itself says. Older servers look at `get`, which
    opens a WebSocket, newer ones at `create`. Where every project has a namespace of its own, there is no one answer:
    it is tried then, and a refusal is told in Kubernetes' words."""
    if "{" in namespace:
        return True
    for verb in ("get", "create"):
        asked = {"verb": verb, "resource": "pods", "subresource": "exec", "namespace": namespace}
        answer = api.ask(_REVIEWS, {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                                    "spec": {"resourceAttributes": asked}})  # fmt: skip
        if not (answer.get("status") or {}).get("allowed", False):
            return False
    return True


def pod_that_runs(api: KubeApi, pods: str, selector: str) -> str | None:
    """The path in the API of the newest pod that is not over. Asked now: what runs in it may have been seen in the
    placement's directory before the driver has looked at the cluster again."""
    living = [pod["metadata"] for pod in api.list(pods, labelSelector=selector) if not explain.is_over(pod)]
    newest = max(living, key=lambda one: str(one["creationTimestamp"]), default=None)
    return None if newest is None else f"{pods}/{newest['name']}"


async def run_in_pod(access: Access, path: str, command: Sequence[str]) -> PodStream:
    """`path` is the pod's in the API. Raises OSError in the API's words."""
    parts = urlsplit(access.url)
    asked = [("container", "job"), ("stdin", "1"), ("stdout", "1"), ("stderr", "1"), *(("command", w) for w in command)]
    scheme = "wss" if parts.scheme == "https" else "ws"
    token = access.token()
    try:
        socket = await connect(
            f"{scheme}://{parts.netloc}{parts.path}{path}/exec?{urlencode(asked)}",
            additional_headers={"Authorization": f"Bearer {token}"} if token else {},
            subprotocols=[_PROTOCOL],
            ssl=(access.tls or None) if scheme == "wss" else None,
            proxy=proxy_for(access.url),
            open_timeout=OPEN_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=None,
            max_size=None,
        )
    except InvalidStatus as error:
        raise OSError(f"Kubernetes refuses the agent access to the pod: {_words(error)}") from error
    except WebSocketException as error:
        raise OSError(f"{parts.netloc} refuses the stream: {error}") from error
    return PodStream(socket)


def _words(error: InvalidStatus) -> str:
    try:
        return str(json.loads(error.response.body or b"")["message"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.response.status_code}"
