"""POST and PATCH with an `Idempotency-Key`: sent again with its key, a request is answered as it was, not done twice.

Clients repeat what changes something when a server dies under them; another server, or the same one after its start,
then finds the key in the database (docs/design/033).
"""

from __future__ import annotations

from hashlib import sha256
from http import HTTPStatus
from logging import getLogger

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.api import problems
from millpond.api.storage_errors import translated
from millpond.db import request_keys
from millpond.db.request_keys import PENDING, KnownRequest, PendingKey
from millpond.errors import BadRequest, Conflict, MillError, Unavailable
from millpond.services import server_processes
from millpond.services.deps import Deps

logger = getLogger(__name__)

HEADER = b"idempotency-key"
_METHODS = frozenset({"POST", "PATCH"})
_LENGTHS = range(8, 101)
_MOST_BYTES = 1 << 20
_SUCCESS = range(200, 300)


class RequestKeys:
    """ASGI middleware, inside of what limits bodies and counts requests."""

    def __init__(self, app: ASGIApp, deps: Deps) -> None:
        self._app = app
        self._deps = deps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" and scope["method"] in _METHODS else {}
        if HEADER not in headers:
            await self._app(scope, receive, send)
            return
        pending = PendingKey(_digest(scope, headers), self._deps.clock.now(), self._deps.server_id)
        try:
            if len(headers[HEADER]) not in _LENGTHS:
                raise BadRequest("An Idempotency-Key has 8 to 100 characters.")
            known = await run_in_threadpool(self._find, pending.key)
            if known is not None and known.status is None and known.location is not None:
                # Cut off behind what it made, or nearly done: that is there in any case.
                await self._app(_reading(scope, known.location), receive, _created(send))
                return
            if known is not None:
                await run_in_threadpool(self._check_done, known)
                await _replay(known, self._opened(pending.key, known.body), send)
                return
        except MillError as error:
            await problems.respond(scope["state"]["request_id"], error)(scope, receive, send)
            return
        except self._deps.db.errors as error:
            if (said := translated(error)) is None:
                raise
            await problems.respond(scope["state"]["request_id"], said)(scope, receive, send)
            return
        token = PENDING.set(pending)
        answer = _Answer(send)
        try:
            await self._app(scope, receive, answer.take)
        finally:
            PENDING.reset(token)
            if pending.written:
                await run_in_threadpool(self._note, pending, answer)
        await answer.pass_on()

    def _find(self, key: bytes) -> KnownRequest | None:
        with self._deps.db.read() as tx:
            return request_keys.find(tx, key)

    def _opened(self, key: bytes, sealed: bytes | None) -> bytes:
        return self._deps.seal.open(sealed, _purpose(key)).encode("latin-1") if sealed else b""

    def _check_done(self, known: KnownRequest) -> None:
        """Unavailable while another process may be working on it, Conflict once it has ended without an answer."""
        if known.status is not None:
            return
        if known.server in {self._deps.server_id, *(one.id for one in server_processes.living(self._deps))}:
            raise Unavailable(request_keys.WORKED_ON, hint="Try again in a moment.")
        raise Conflict(
            "An earlier try of this request was cut off in the middle.",
            hint="Check what it has done, then do the rest.",
        )

    def _note(self, pending: PendingKey, answer: _Answer) -> None:
        try:
            self._write(pending, answer)
        except self._deps.db.errors as error:  # it was done: whoever asks again is told that it was begun
            logger.warning("request_key_not_answered reason=%s", str(error).partition("\n")[0])

    def _write(self, pending: PendingKey, answer: _Answer) -> None:
        with self._deps.db.write() as tx:
            if answer.status in _SUCCESS and len(answer.body) <= _MOST_BYTES:
                # Sealed: some answers hold what is shown only once, as new tokens do.
                body = self._deps.seal.seal(answer.body.decode("latin-1"), _purpose(pending.key))
                request_keys.answer(tx, pending.key, status=answer.status, media_type=answer.media_type, body=body)
            else:  # what failed may be tried again
                request_keys.remove(tx, pending.key)


class _Answer:
    """Holds the answer back until it is noted."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._messages: list[Message] = []
        self.status = 500
        self.media_type = ""
        self.body = b""

    async def take(self, message: Message) -> None:
        self._messages.append(message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.media_type = dict(message["headers"]).get(b"content-type", b"").decode("latin-1")
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def pass_on(self) -> None:
        for message in self._messages:
            await self._send(message)


def _reading(scope: Scope, location: str) -> Scope:
    """The request for what was made, by whoever asks."""
    path = f"/api/v1{location}"
    headers = [(name, value) for name, value in scope["headers"] if name not in (HEADER, b"content-length")]
    return {**scope, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}


def _created(send: Send) -> Send:
    async def created(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
            headers = [*message["headers"], (b"idempotency-replayed", b"true")]
            message = {**message, "status": HTTPStatus.CREATED, "headers": headers}
        await send(message)

    return created


async def _replay(known: KnownRequest, body: bytes, send: Send) -> None:
    """The answer that was noted."""
    headers = [
        (b"content-type", (known.media_type or "").encode("latin-1")),
        (b"content-length", str(len(body)).encode()),
        (b"idempotency-replayed", b"true"),
    ]
    await send({"type": "http.response.start", "status": known.status, "headers": headers if body else headers[2:]})
    await send({"type": "http.response.body", "body": body})


def _purpose(key: bytes) -> str:
    return f"answer to a request {key.hex()}"


def _digest(scope: Scope, headers: dict[bytes, bytes]) -> bytes:
    """Nobody gets the answer to somebody else's request, nor to another one of their own."""
    who = headers.get(b"authorization") or headers.get(b"cookie") or b""
    parts = (headers[HEADER], scope["method"].encode(), scope["path"].encode(), scope["query_string"], who)
    return sha256(b"\0".join(sha256(part).digest() for part in parts)).digest()
