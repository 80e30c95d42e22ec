"""Calls of the agent to the server: three, all outgoing."""

from __future__ import annotations

import asyncio
import json
import platform
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError
from urllib3 import HTTPHeaderDict

from millpond import __version__, tracing
from millpond.agent.log_file import Taken
from millpond.client.http import API
from millpond.client.problems import problem_of
from millpond.client.transport import Response
from millpond.errors import ServerUnreachable, SetupError
from millpond.model.json_text import without_nul
from millpond.proxy import proxy_for
from millpond.trust import tls_context
from millpond.wire.agent import PROTOCOL, PROTOCOL_HEADER, LogAnswer, UsageBatch
from millpond.wire.desired import Desired
from millpond.wire.observed import Observed

# Added to the time a request may wait at the server before its silence counts as an error.
ANSWER_SECONDS = 15.0
# Requests with logs and usage under way. Hundreds of jobs have some at any moment, and what many of them would wait for
# is this process itself: queues of connections cost more with every request in them.
SHIPPING_AT_ONCE = 8
_PACED_BYTES = 16 << 10

Pace = Callable[[int], Awaitable[None]]


class Server:
    """Raises MillError for what the server refuses and ServerUnreachable when it does not answer."""

    def __init__(self, url: str, token: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._token, self._transport = token, transport
        # Apart from logs: what is to be run must not wait behind what the jobs have to say.
        self._exchange, self._shipping = self._client(), self._client()
        self._turns = asyncio.Semaphore(SHIPPING_AT_ONCE)

    async def sync(self, observed: Observed) -> Desired:
        """Report the observed state, receive the desired one; returns on news or after `observed.wait_seconds`."""
        timeout = httpx.Timeout(observed.wait_seconds + ANSWER_SECONDS, connect=5.0)
        response = await self._send(self._exchange, "POST", "/agents/sync", body=observed, timeout=timeout)
        try:
            return Desired.model_validate_json(response.content)
        except ValidationError as error:
            raise SetupError(
                f"{self.url} sent a response that this agent ({__version__}) does not understand.",
                hint="Use the same version of Millpond for server and agent.",
            ) from error

    async def put_log(self, placement: str, taken: Taken, *, rank: int = 0, durable: bool) -> LogAnswer:
        """Send bytes of a log; return the server's offset. `durable`: wait until they survive a crash of the server."""
        params: dict[str, int] = {"offset": taken.offset}
        if taken.left_out_from is not None:
            params["left_out_from"] = taken.left_out_from
        if rank:
            params["rank"] = rank
        if durable:
            params["durable"] = 1
        async with self._turns:
            path = f"/placements/{placement}/log"
            response = await self._send(self._shipping, "PUT", path, params=params, body=taken.data)
        return LogAnswer.model_validate_json(response.content)

    async def post_usage(self, placement: str, batch: UsageBatch) -> None:
        async with self._turns:
            await self._send(self._shipping, "POST", f"/placements/{placement}/usage", body=batch)

    async def post_request_log(self, endpoint_id: str, content: bytes, *, pace: Pace | None = None) -> None:
        """A file of an endpoint's request log; the server keeps it once, however often it is sent.

        `pace` waits until so many bytes may go. One that is paced takes long, and so nobody's turn.
        """
        path = f"/agents/request-logs/{endpoint_id}"
        if pace is not None:
            await self._send(self._shipping, "POST", path, body=content, pace=pace)
            return
        async with self._turns:
            await self._send(self._shipping, "POST", path, body=content)

    async def close(self) -> None:
        await self._exchange.aclose()
        await self._shipping.aclose()

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=f"{self.url}{API}",
            headers={
                "Authorization": f"Bearer {self._token}",
                PROTOCOL_HEADER: str(PROTOCOL),
                "User-Agent": f"millpond-agent/{__version__} python/{platform.python_version()}",
            },
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=5.0),
            transport=self._transport,
            verify=tls_context() if self.url.startswith("https:") else False,
            # Found here as for every other connection, not by httpx.
            proxy=proxy_for(self.url),
            trust_env=False,
            limits=httpx.Limits(max_connections=2 * SHIPPING_AT_ONCE, max_keepalive_connections=SHIPPING_AT_ONCE),
        )

    async def _send(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        *,
        body: BaseModel | bytes,
        params: dict[str, int] | None = None,
        timeout: httpx.Timeout | None = None,
        pace: Pace | None = None,
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else _json(body)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {
            "Content-Type": kind, "Content-Length": str(len(content)), "X-Request-Id": secrets.token_hex(8),
        }  # fmt: skip
        try:
            with tracing.span(f"agent {path.split('/')[1]}", kind="client"):
                if tracing.is_on() and (trace := tracing.traceparent()):
                    headers[tracing.HEADER] = trace
                response = await client.request(
                    method,
                    path,
                    content=content if pace is None else _paced(content, pace),
                    params=params,
                    headers=headers,
                    timeout=timeout or httpx.USE_CLIENT_DEFAULT,
                )
        except httpx.HTTPError as error:
            raise ServerUnreachable(f"Cannot reach the server {self.url}: {error or type(error).__name__}") from error
        if response.is_success:
            return response
        told = HTTPHeaderDict(response.headers.multi_items())
        raise problem_of(
            Response(response.status_code, response.reason_phrase, str(response.url), told, response.content)
        )


async def _paced(content: bytes, pace: Pace) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PACED_BYTES):
        part = content[start : start + _PACED_BYTES]
        await pace(len(part))
        yield part


def _json(body: BaseModel) -> bytes:
    """Encode as JSON, replacing undecodable bytes of file names, and NUL characters of what commands printed."""
    try:
        return without_nul(body.model_dump_json()).encode()
    except PydanticSerializationError:
        return without_nul(json.dumps(body.model_dump(mode="json"), ensure_ascii=False)).encode(errors="replace")
