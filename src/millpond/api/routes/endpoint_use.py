"""Endpoints through the server, for people who can only reach that: HTTP, by way of the agent to the site's router.

`tritonclient` keeps the base path, so the address of an endpoint here is its `url`. Only JSON and tensors pass, and
nothing of an answer can run in the page's origin.
"""

from __future__ import annotations

import asyncio

import h11
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from millpond.api.access import DepsOf, EndpointUse
from millpond.api.limits import ENDPOINT_BODY
from millpond.api.ports.pipe import Pipe, open_pipe
from millpond.errors import BadRequest, TooLarge, Unavailable
from millpond.services.deps import Deps
from millpond.services.endpoints import reaching
from millpond.services.endpoints.reaching import RouterPlace

router = APIRouter(tags=["endpoints"])

_ANSWER_SECONDS = 330.0
_TYPES = ("application/json", "application/octet-stream")
_SENT = (b"content-type", b"content-encoding", b"accept-encoding", b"inference-header-content-length")
_PASSED = (
    b"content-type", b"content-encoding", b"inference-header-content-length", b"retry-after", b"mill-model-version",
    b"mill-request-id",
)  # fmt: skip
_GUARD = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cache-Control": "no-store"}


_USE = "/projects/{project}/endpoints/{endpoint}/v2"


@router.get(_USE, include_in_schema=False)
async def read_endpoint_server(
    request: Request, project: str, endpoint: str, use: EndpointUse, deps: DepsOf
) -> Response:  # fmt: skip
    """What the model server tells of itself."""
    return await _passed_on(request, deps, project, endpoint, "")


@router.get(f"{_USE}/{{path:path}}", include_in_schema=False)
async def read_through_endpoint(
    request: Request, project: str, endpoint: str, path: str, use: EndpointUse, deps: DepsOf
) -> Response:
    """A question of the inference protocol: metadata, readiness, statistics."""
    return await _passed_on(request, deps, project, endpoint, path)


@router.post(f"{_USE}/{{path:path}}", include_in_schema=False)
async def ask_endpoint(
    request: Request, project: str, endpoint: str, path: str, use: EndpointUse, deps: DepsOf
) -> Response:
    """A request of the inference protocol."""
    return await _passed_on(request, deps, project, endpoint, path)


async def _passed_on(request: Request, deps: Deps, project: str, endpoint: str, path: str) -> Response:
    body = await _body(request)
    place = await run_in_threadpool(reaching.router_of, deps, project, endpoint)
    pipe = await open_pipe(deps, place.target)
    try:
        return await asyncio.wait_for(_exchange(pipe, request, place, path, body), _ANSWER_SECONDS)
    except TimeoutError as error:
        raise Unavailable("The endpoint did not answer in time.", hint=f"mill endpoint show {endpoint}") from error
    finally:
        pipe.close()


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if request.method == "POST" and kind not in (*_TYPES, "application/x-www-form-urlencoded", ""):
        raise BadRequest(f"Content type {kind!r} is not passed on.", hint=f"Send {' or '.join(_TYPES)}.")
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > ENDPOINT_BODY:
            raise TooLarge(
                f"A request through the server has at most {ENDPOINT_BODY >> 20} MB.",
                hint="Ask the router at the site itself: mill endpoint show",
            )
    return bytes(found)


async def _exchange(pipe: Pipe, request: Request, place: RouterPlace, path: str, body: bytes) -> Response:
    job = h11.Connection(h11.CLIENT)
    query = f"?{request.url.query}" if request.url.query else ""
    target = f"/endpoints/{place.endpoint}/v2{f'/{path}' if path else ''}{query}"
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {place.token}".encode())]
    headers += [(name, value) for name, value in request.headers.raw if name.lower() in _SENT]
    headers.append((b"content-length", str(len(body)).encode()))
    await pipe.write(job.send(h11.Request(method=request.method, target=target.encode(), headers=headers)))
    if body:
        await pipe.write(job.send(h11.Data(data=body)))
    await pipe.write(job.send(h11.EndOfMessage()))
    return await _answer(pipe, job)


async def _answer(pipe: Pipe, job: h11.Connection) -> Response:
    head: h11.Response | None = None
    content = bytearray()
    while True:
        try:
            event = job.next_event()
        except h11.RemoteProtocolError as error:
            raise Unavailable("The router of the endpoint did not answer.", hint="Try again.") from error
        if event is h11.NEED_DATA:
            job.receive_data(await pipe.read())
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            content += event.data
            if len(content) > ENDPOINT_BODY:
                raise TooLarge("The answer is too large to pass through the server.")
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _guarded(head, bytes(content))
        elif isinstance(event, h11.ConnectionClosed):
            raise Unavailable("The router of the endpoint did not answer.", hint="Try again.")


def _guarded(head: h11.Response, content: bytes) -> Response:
    """The answer with types that no browser runs."""
    passed = {name.decode(): value.decode("latin-1") for name, value in head.headers if name.lower() in _PASSED}
    kind = passed.pop("content-type", "").partition(";")[0].strip().lower()
    media = kind if kind in _TYPES else "application/octet-stream"
    return Response(content, head.status_code, headers={**passed, **_GUARD}, media_type=media)
