"""The same server for assistants that speak streamable HTTP: on this machine only, and only with a key.

Others of the machine reach the loopback, too; without the key they would work with the caller's token.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server import MCPServer

PATH = "/mcp"
HOST = "127.0.0.1"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_REFUSAL = b'{"error":"This server needs its key: Authorization: Bearer KEY, as `mill mcp --http` printed it."}'


def serve(server: MCPServer[object], port: int, key: str) -> None:
    """Until Ctrl-C."""
    app = with_key(server.streamable_http_app(streamable_http_path=PATH, host=HOST), key)
    uvicorn.run(app, host=HOST, port=port, log_level="warning", access_log=False)


def with_key(app: App, key: str) -> App:
    """`app` for requests with the key; 401 for others."""
    wanted = f"Bearer {key}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or secrets.compare_digest(_authorization(scope), wanted):
            await app(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": _REFUSAL})

    return checked


def _authorization(scope: Scope) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == b"authorization"), b"")
