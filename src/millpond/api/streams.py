"""WebSockets to jobs: the client's end at the job's address, the agent's end at that of the tunnel.

No dependency of FastAPI sees these requests, so each looks itself at who is asking. Problems are told as a message
before the socket closes: a handshake that is refused shows its reason to no browser.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from logging import getLogger

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocketState

from millpond.api.access import authenticate, check_scopes, deps_of
from millpond.api.other_servers import pass_on_to
from millpond.errors import BadRequest, Forbidden, MillError, NotFound
from millpond.model.people import Actor, ActorKind, TokenScope
from millpond.services.jobs import job_streams, tunnel_calls
from millpond.services.jobs.job_streams import JobPlace, StreamTarget
from millpond.services.jobs.tunnels import Tunnel, relay

logger = getLogger(__name__)
router = APIRouter()

# Close codes from 4000 on are free to use; the rest says which error it was.
_PROBLEM = 4000
LOOK_AGAIN_SECONDS = 30.0


class WebSocketEnd:
    """A `tunnels.Socket` on an accepted WebSocket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> str | bytes | None:
        try:
            message = await self._socket.receive()
        except (WebSocketDisconnect, RuntimeError):
            return None
        if message["type"] != "websocket.receive":
            return None
        text: str | None = message.get("text")
        return text if text is not None else message.get("bytes") or b""

    async def send(self, message: str | bytes) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            await (self._socket.send_text(message) if isinstance(message, str) else self._socket.send_bytes(message))


@router.websocket("/projects/{project}/jobs/{job}/exec")
async def exec_in_job(socket: WebSocket, project: str, job: str) -> None:
    """`command` once per argument; `tty=1` with `columns` and `rows` for a terminal; `rank` of a distributed job."""
    query = socket.query_params

    def target(actor: Actor) -> StreamTarget:
        size = {name: _number(socket, name, default) for name, default in _SIZE.items()}
        command, tty = query.getlist("command"), query.get("tty") == "1"
        place = JobPlace(project, job, _number(socket, "rank", 0))
        return job_streams.exec_target(deps_of(socket), actor, place, command, tty=tty, **size)

    await _lead(socket, (project, job), target)


@router.websocket("/projects/{project}/jobs/{job}/ports/{port}")
async def port_of_job(socket: WebSocket, project: str, job: str, port: int) -> None:
    """`rank` of a distributed job."""

    def target(actor: Actor) -> StreamTarget:
        return job_streams.port_target(deps_of(socket), actor, JobPlace(project, job, _number(socket, "rank", 0)), port)

    await _lead(socket, (project, job), target)


@router.websocket("/agents/tunnels/{tunnel}")
async def agent_comes(socket: WebSocket, tunnel: str) -> None:
    """The agent's end."""
    await socket.accept()
    try:
        actor = await run_in_threadpool(authenticate, socket)
        if actor.kind is not ActorKind.AGENT or actor.agent_id is None:
            raise Forbidden("This is only for agents.")
        deps = deps_of(socket)
        found = deps.tunnels.take(tunnel, actor.agent_id)
        if found is None:
            other = await run_in_threadpool(tunnel_calls.server_of, deps, actor.agent_id, tunnel)
            if other is None:
                raise NotFound("This stream was already closed.")
            await pass_on_to(other, socket, WebSocketEnd(socket))
            await _close(socket)
            return
    except MillError as error:
        await _refuse(socket, error)
        return
    await found.serve(WebSocketEnd(socket))
    await _close(socket)


_SIZE = {"columns": 80, "rows": 24}


def _number(socket: WebSocket, name: str, default: int) -> int:
    said = socket.query_params.get(name, "")
    if not said:
        return default
    if not said.isdecimal() or len(said) > 9:
        raise BadRequest(f"`{name}` must be a number, not {said!r}.")
    return int(said)


async def _lead(socket: WebSocket, place: tuple[str, str], target: Callable[[Actor], StreamTarget]) -> None:
    """From the client's handshake to the end of the stream."""
    await socket.accept()
    tunnel: Tunnel | None = None
    deps = deps_of(socket)
    try:
        actor = await run_in_threadpool(_person, socket)
        found = await run_in_threadpool(target, actor)
        tunnel = deps.tunnels.open(found.agent_id, found.wanted)
        await run_in_threadpool(tunnel_calls.call, deps, tunnel)
        await _until_over(socket, place, WebSocketEnd(socket), tunnel)
    except MillError as error:
        await _refuse(socket, error)
    except Exception:
        logger.exception("stream_failed project=%s job=%s", *place)
        await _refuse(socket, MillError("Something went wrong in the server."))
    finally:
        if tunnel is not None:
            deps.tunnels.forget(tunnel)
    await _close(socket)


async def _until_over(socket: WebSocket, place: tuple[str, str], client: WebSocketEnd, tunnel: Tunnel) -> None:
    passing = asyncio.ensure_future(relay(client, await tunnel.agent()))
    try:
        while not passing.done():
            await asyncio.wait({passing}, timeout=LOOK_AGAIN_SECONDS)
            if not passing.done():
                await run_in_threadpool(_check_again, socket, *place)
    finally:
        passing.cancel()
        await asyncio.gather(passing, return_exceptions=True)


def _person(socket: WebSocket) -> Actor:
    actor = authenticate(socket)
    if actor.kind is not ActorKind.USER:
        raise Forbidden("This is only for people.")
    check_scopes(actor, frozenset({TokenScope.SUBMIT}))
    return actor


def _check_again(socket: WebSocket, project: str, job: str) -> None:
    job_streams.still_used(deps_of(socket), _person(socket), project, job)


async def _refuse(socket: WebSocket, error: MillError) -> None:
    problem = {"code": error.code, "status": error.status, "detail": error.message, "hint": error.hint}
    await WebSocketEnd(socket).send(json.dumps({"problem": problem}))
    await _close(socket, _PROBLEM + error.status)


async def _close(socket: WebSocket, code: int = 1000) -> None:
    if socket.application_state is WebSocketState.CONNECTED:
        with suppress(WebSocketDisconnect, RuntimeError):
            await socket.close(code)
