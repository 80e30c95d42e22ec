"""Streams to running jobs: run a command, or reach a port (docs/design/011-tunnels.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from millpond.client.http import API, Api, segment
from millpond.errors import MillError, NotFound, ServerUnreachable, Unavailable, by_code
from millpond.proxy import proxy_for
from millpond.trust import tls_context

STDIN, STDOUT, STDERR = 0, 1, 2
OPEN_SECONDS = 30.0


class Stream:
    """One end of a tunnel. Sending and receiving may happen in two threads."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    def send(self, message: str | bytes) -> None:
        """Raises Unavailable if the stream is closed."""
        try:
            self._socket.send(message)
        except ConnectionClosed as error:
            raise _over() from error

    def messages(self) -> Iterator[dict[str, Any] | bytes]:
        """Messages until the other end closes; text is parsed as JSON. Raises errors sent by the server."""
        while True:
            try:
                message = self._socket.recv()
            except ConnectionClosed:
                return
            if isinstance(message, bytes):
                yield message
                continue
            said: dict[str, Any] = json.loads(message)
            if "problem" in said:
                raise _error_of(said["problem"])
            yield said


@contextmanager
def open_exec(
    api: Api, project: str, job: str, command: Sequence[str], *,
    terminal: tuple[int, int] | None = None, rank: int = 0,
) -> Iterator[Stream]:  # fmt: skip
    """Run a command next to the job (next to that rank, if distributed). `terminal`: its columns and rows, if it
    needs one."""
    query: list[tuple[str, str | int]] = [("rank", rank), *(("command", part) for part in command)]
    if terminal is not None:
        query += [("tty", 1), ("columns", terminal[0]), ("rows", terminal[1])]
    with _open(api, f"/projects/{segment(project)}/jobs/{segment(job)}/exec?{urlencode(query)}") as stream:
        yield stream


@contextmanager
def open_port(api: Api, project: str, job: str, port: int, *, rank: int = 0) -> Iterator[Stream]:
    with _open(api, f"/projects/{segment(project)}/jobs/{segment(job)}/ports/{port}?rank={rank}") as stream:
        yield stream


@contextmanager
def _open(api: Api, path: str) -> Iterator[Stream]:
    parts = urlsplit(api.base_url)
    is_secure = parts.scheme == "https"
    with ExitStack() as stack:
        try:
            socket = stack.enter_context(
                connect(
                    f"{'wss' if is_secure else 'ws'}://{parts.netloc}{parts.path}{API}{path}",
                    additional_headers={"Authorization": f"Bearer {api.token}"} if api.token else {},
                    ssl=tls_context() if is_secure else None,
                    proxy=proxy_for(api.base_url),
                    open_timeout=OPEN_SECONDS,
                    max_size=None,
                )
            )
        except InvalidStatus as error:
            if error.response.status_code != NotFound.status:
                raise _unreachable(api, error) from error
            words = "This server does not support streams to jobs."
            raise NotFound(words, hint="It may be older than this client.") from error
        except (OSError, WebSocketException) as error:
            raise _unreachable(api, error) from error
        yield Stream(socket)


def _unreachable(api: Api, error: Exception) -> ServerUnreachable:
    return ServerUnreachable(
        f"Cannot open a stream at {api.base_url}: {error}", hint="Check the connection: mill doctor"
    )


def _over() -> Unavailable:
    return Unavailable("The connection to the job has ended.")


def _error_of(problem: dict[str, Any]) -> MillError:
    return by_code(problem.get("code", ""))(problem.get("detail", "The stream was refused."), hint=problem.get("hint"))
