"""The short way for points of metrics: what a training loop sends all day, answered before FastAPI sees it.

Taken are batches of points of our SDK, and `log-metric` and `log-batch` of MLflow's clients, as long as nothing about
them is unusual. Everything else goes on as it came, and gets its answer or its error from the ordinary routes.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import suppress

from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from millpond.api import problems
from millpond.api.metrics.requests import RequestMetrics
from millpond.api.mlflow import quick
from millpond.api.origins import is_content_host
from millpond.api.requests import ALWAYS
from millpond.api.shapes.points import read_points, to_batch
from millpond.errors import Invalid, MillError
from millpond.model.ids import new_id
from millpond.services.deps import Deps
from millpond.services.people.tokens import hash_secret
from millpond.services.runs.point_intake import LoggedPoints, PointIntake
from millpond.wire.points import MEDIA_TYPE

# A larger body is no matter of a millisecond.
_MOST_BYTES = 4 << 20
_BATCH = re.compile(r"/api/v1/projects/([^/]+)/runs/([^/]+)/batch")
_MLFLOW = re.compile(r"/mlflow/([^/]+)/api/2\.0/mlflow/runs/log-(metric|batch)")
# What /metrics calls them.
_BATCH_ROUTE = "/api/v1/projects/{project}/runs/{run}/batch"
_MLFLOW_ROUTE = "/mlflow/{project}/{path:path}"
# What is shown nowhere loads nothing.
_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
Headers = Mapping[bytes, bytes]


class QuickPoints:
    """ASGI middleware around the whole application; it answers with what that adds to every answer, too."""

    def __init__(self, app: FastAPI, deps: Deps) -> None:
        self._app = app
        self._deps = deps
        self._intake = PointIntake(deps)
        self._metrics: RequestMetrics = app.state.request_metrics
        self._most = min(_MOST_BYTES, deps.settings.max_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            if (found := _MLFLOW.fullmatch(path)) and (headers := self._short(scope)):
                await self._mlflow(found[1], found[2], headers, scope, receive, send)
                return
            if (found := _BATCH.fullmatch(path)) and (headers := self._short(scope)) and _has_points(headers):
                await self._batch(found[1], found[2], headers, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _short(self, scope: Scope) -> Headers | None:
        """The headers of a request whose body is short, at a host of the page's."""
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        is_short = length.isdigit() and int(length) <= self._most
        return headers if is_short and not is_content_host(self._deps.settings, scope) else None

    async def _mlflow(
        self, project: str, what: str, headers: Headers, scope: Scope, receive: Receive, send: Send
    ) -> None:
        started = time.monotonic()
        body = await _read(receive)
        read = quick.read_metric if what == "metric" else quick.read_batch
        logged = None
        with suppress(MillError):
            logged = read(project, _authorization(headers), body)
        if logged is None or not await self._taken(logged):
            await self._app(scope, _replayed(body, receive), send)
            return
        await _answer(send, 200, b"{}")
        self._metrics.count("POST", _MLFLOW_ROUTE, 200, time.monotonic() - started)

    async def _batch(
        self, project: str, run: str, headers: Headers, scope: Scope, receive: Receive, send: Send
    ) -> None:
        started = time.monotonic()
        body = await _read(receive)
        try:
            head, batch = read_points(body)
        except Invalid as error:
            refused = problems.respond(new_id(16), error)
            refused.raw_headers += [*ALWAYS, _POLICY]
            await refused(scope, receive, send)
            return
        scheme, _, secret = _authorization(headers).partition(" ")
        token = hash_secret(secret.strip()) if scheme.lower() == "bearer" else b""
        logged = LoggedPoints(token, project, run, batch, head.writer, head.sequence)
        if token and await self._taken(logged):
            await _answer(send, 204)
            self._metrics.count("POST", _BATCH_ROUTE, 204, time.monotonic() - started)
            return
        plain = to_batch(head, batch)
        changed = {b"content-type": b"application/json", b"content-length": str(len(plain)).encode()}
        await self._app({**scope, "headers": [*{**headers, **changed}.items()]}, _replayed(plain, receive), send)

    async def _taken(self, logged: LoggedPoints) -> bool:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def told(taken: bool) -> None:
            # A server that stops waits for nobody.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, answer, taken)

        self._intake.take(logged, told)
        return await answer


def _settle(answer: asyncio.Future[bool], taken: bool) -> None:
    if not answer.done():
        answer.set_result(taken)


def _has_points(headers: Headers) -> bool:
    """True for exactly this format; a later one of a newer client is refused as any other is, then comes as JSON."""
    return headers.get(b"content-type", b"").partition(b";")[0].strip() == MEDIA_TYPE.encode()


def _authorization(headers: Headers) -> str:
    return headers.get(b"authorization", b"").decode("latin-1")


async def _read(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts = [body]
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, once more; then whatever comes after it."""
    first: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def replayed() -> Message:
        nonlocal first
        message, first = first, None
        return message or await receive()

    return replayed


async def _answer(send: Send, status: int, body: bytes = b"") -> None:
    headers = [*ALWAYS, _POLICY, (b"x-request-id", new_id(16).encode())]
    if body:
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
