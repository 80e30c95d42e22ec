"""uvicorn inside our own process, which stops within two seconds however many streams and long polls are open."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from millpond.services.events import EventHub

_GRACE_SECONDS = 2


class Listener(uvicorn.Server):
    """Answers on a socket that is already bound, so a caller may connect before `run` has been called.

    `on_ready` is called as soon as it answers, and may take its time: requests are answered meanwhile.
    """

    def __init__(
        self,
        app: ASGIApp,
        hub: EventHub,
        *,
        tls: ssl.SSLContext | None = None,
        on_ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # Any program of this machine would be believed; api/front.py believes those that were named.
                proxy_headers=False,
                ws="websockets-sansio",
                timeout_graceful_shutdown=_GRACE_SECONDS,
                # A few more than the agent's longest wait, so that idle connections are reused.
                timeout_keep_alive=75,
            )
        )
        self._hub = hub
        self._tls = tls
        self._on_ready = on_ready
        self._announcing: asyncio.Future[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.ssl = self._tls
        await super().startup(sockets)
        if self._on_ready is not None:
            self._announcing = asyncio.ensure_future(self._on_ready())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams and long polls would wait for events for ever: tell them first.
        self._hub.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Signals are for whoever runs the process: uvicorn would raise them again, before we have tidied up.
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; OSError when the port is taken. Port 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets that name TCP; with it, every answer takes 40 ms longer.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(1024)
    except OSError:
        bound.close()
        raise
    return bound
