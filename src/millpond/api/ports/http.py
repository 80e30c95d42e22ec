"""One request of a browser and the job's answer to it, over a pipe."""

from __future__ import annotations

import asyncio

import h11
from starlette.types import Receive, Scope, Send

from millpond.api.ports.headers import Names, inwards, outwards
from millpond.api.ports.pipe import Pipe
from millpond.errors import Unavailable


class NothingSent(Unavailable):
    """A connection that had rested was gone before it answered anything."""


async def exchange(pipe: Pipe, names: Names, scope: Scope, receive: Receive, send: Send) -> bool:
    """Whether the pipe may be used for another request. Unavailable when the job goes away before it answers."""
    job = h11.Connection(h11.CLIENT)
    await pipe.write(job.send(_request(names, scope)))
    sending = asyncio.ensure_future(_send_body(pipe, job, receive))
    try:
        await _answer(pipe, job, names, send)
    finally:
        sent = sending.done() and not sending.cancelled() and sending.exception() is None
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    return sent and job.our_state is h11.DONE and job.their_state is h11.DONE


def _request(names: Names, scope: Scope) -> h11.Request:
    target: bytes = scope.get("raw_path") or scope["path"].encode()
    if scope["query_string"]:
        target += b"?" + scope["query_string"]
    headers = inwards(names, scope["headers"])
    known = {name.lower() for name, _ in headers}
    if b"content-length" not in known and scope["method"] not in ("GET", "HEAD", "OPTIONS", "DELETE"):
        headers.append((b"transfer-encoding", b"chunked"))
    return h11.Request(method=scope["method"], target=target, headers=headers)


async def _send_body(pipe: Pipe, job: h11.Connection, receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return  # the browser is gone
        if message.get("body"):
            await pipe.write(job.send(h11.Data(data=message["body"])))
        if not message.get("more_body", False):
            await pipe.write(job.send(h11.EndOfMessage()))
            return


async def _answer(pipe: Pipe, job: h11.Connection, names: Names, send: Send) -> None:
    started = False
    while True:
        try:
            event = job.next_event()
        except h11.RemoteProtocolError as error:
            if not started:
                raise NothingSent("The job does not serve HTTP at this port, or has ended.") from error
            raise
        if event is h11.NEED_DATA:
            job.receive_data(await pipe.read())
        elif isinstance(event, h11.Response):
            started = True
            headers = outwards(names, list(event.headers))
            await send({"type": "http.response.start", "status": event.status_code, "headers": headers})
        elif isinstance(event, h11.Data):
            await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
        elif isinstance(event, h11.EndOfMessage):
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        elif isinstance(event, h11.ConnectionClosed):
            raise NothingSent("The job ended before it answered.")
