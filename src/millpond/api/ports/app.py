"""The application behind the hosts of jobs: takes tickets, then passes everything on to the job's port.

GET /.mill/open/{ticket}   takes a one-time ticket, sets the cookie of this host and leads on to `next`, or to /
everything else            the job's
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from logging import getLogger

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from millpond.api.origins import host_of
from millpond.api.ports import http, sockets
from millpond.api.ports.headers import COOKIE, Names, is_own
from millpond.api.ports.pipe import Pipe, Pipes
from millpond.errors import Forbidden, MillError, NotSignedIn
from millpond.services.clusters import dashboards
from millpond.services.deps import Deps
from millpond.services.jobs import job_ports
from millpond.services.jobs.job_ports import Opened
from millpond.services.workspaces import session_programs

logger = getLogger(__name__)

_HOST = re.compile(r"\d{1,5}-(?:r\d+-)?[a-z0-9]+\..+")
OPEN = "/.mill/open/"
_POLICY_VIOLATION = 1008
LOOK_AGAIN_SECONDS = 30.0


def label(job_id: str, port: int, rank: int = 0) -> str:
    """The first part of the host of a job's port; every process of a distributed job has hosts of its own."""
    return f"{port}-r{rank}-{job_id.lower()}" if rank else f"{port}-{job_id.lower()}"


def is_job_host(scope: Scope) -> bool:
    return _HOST.fullmatch(host_of(scope)) is not None


class JobPorts:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._pipes = Pipes(deps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(WebSocket(scope, receive, send))
            return
        if scope["path"].startswith(OPEN):
            await (await self._open(scope))(scope, receive, send)
            return
        await self._request(scope, receive, send)

    async def _open(self, scope: Scope) -> Response:
        host = host_of(scope)
        try:
            ticket = scope["path"].removeprefix(OPEN)
            grant = await run_in_threadpool(lambda: job_ports.redeem(self._deps, ticket, host=host))
            opened = job_ports.granted(self._deps, grant, host=host)
            beside = await run_in_threadpool(self._cookies, opened)
        except MillError as error:
            return _words(error)
        response = RedirectResponse(_place(scope), status_code=303, headers={"Cache-Control": "no-store"})
        response.set_cookie(
            COOKIE, grant, max_age=job_ports.GRANT_SECONDS, httponly=True, samesite="lax",
            secure=self._outside(scope).startswith("https:"),
        )  # fmt: skip
        for name, value in beside.items():
            response.set_cookie(name, value, max_age=job_ports.GRANT_SECONDS, httponly=True, samesite="lax")
        return response

    def _cookies(self, opened: Opened) -> Mapping[str, str]:
        """What lets the browser into the program behind the port, once its person was let to it."""
        of_cluster = dashboards.cookies_of(self._deps, opened.job, opened.port)
        return of_cluster or session_programs.cookies_of(self._deps, opened.job)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            opened = self._opened(scope)
            names = Names(self._outside(scope), opened.port)
            pipe = await self._pipes.open(opened, fresh=scope["method"] not in ("GET", "HEAD"))
            await self._pass_on(pipe, opened, names, scope, receive, noting)
        except MillError as error:
            if started:
                raise
            await _words(error)(scope, receive, send)

    async def _pass_on(
        self, pipe: Pipe, opened: Opened, names: Names, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """A connection that had rested may be gone: a request without a body is then made again."""
        try:
            again = await http.exchange(pipe, names, scope, receive, send)
        except http.NothingSent:
            pipe.close()
            if not pipe.rested_at:
                raise
            pipe = await self._pipes.open(opened, fresh=True)
            again = await http.exchange(pipe, names, scope, _no_body, send)
        except BaseException:
            pipe.close()
            raise
        if again:
            self._pipes.rest(opened, pipe)
        else:
            pipe.close()

    async def _socket(self, socket: WebSocket) -> None:
        try:
            opened = self._opened(socket.scope, needs_origin=True)
            pipe = await self._pipes.open(opened, fresh=True)
        except MillError:
            await socket.close(_POLICY_VIOLATION)
            return
        passing = asyncio.ensure_future(sockets.exchange(pipe, Names(self._outside(socket.scope), opened.port), socket))
        try:
            while not passing.done():
                await asyncio.wait({passing}, timeout=LOOK_AGAIN_SECONDS)
                # Notebooks keep one open all day: it counts as use, and ends with the person's role.
                await run_in_threadpool(job_ports.target, self._deps, opened)
        except MillError:
            passing.cancel()
        finally:
            await asyncio.gather(passing, return_exceptions=True)
            pipe.close()

    def _opened(self, scope: Scope, *, needs_origin: bool = False) -> Opened:
        connection = HTTPConnection(scope)
        grant = connection.cookies.get(COOKIE)
        if not grant:
            raise NotSignedIn(
                "This port of a job was not opened in this browser.", hint="Open it from Millpond's page."
            )
        opened = job_ports.granted(self._deps, grant, host=host_of(scope))
        if needs_origin and "origin" not in connection.headers:
            raise Forbidden("A WebSocket must send the origin of its page.")
        if not is_own(Names(self._outside(scope), opened.port), scope["headers"]):
            raise Forbidden("Another site's page made this request.")
        return opened

    def _outside(self, scope: Scope) -> str:
        """The origin as the browser sees it: behind a proxy, by what the administrator said."""
        is_secure = (self._deps.settings.content_url or "").startswith("https:")
        return f"{'https' if is_secure else 'http'}://{host_of(scope)}"


def _place(scope: Scope) -> str:
    """Where the ticket leads on to: a path of the job's own, `/` unless `next` names one."""
    wanted = QueryParams(scope.get("query_string", b"")).get("next", "/")
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_path else "/"


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _words(error: MillError) -> Response:
    words = " ".join(filter(None, (error.message, error.hint)))
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": "sandbox; default-src 'none'"}
    return PlainTextResponse(words, error.status, headers=headers)
