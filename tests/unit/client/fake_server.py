"""A real HTTP server for tests of the client: routes are functions, and it can go away and come back on its port."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    match: re.Match[str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str, detail: str, **more: Any) -> Answer:
    document = {"title": code, "status": status, "code": code, "detail": detail, "request_id": "req-1", **more}
    return Answer(status, json.dumps(document).encode(), "application/problem+json")


Handler = Callable[[Received], Any]


class FakeServer:
    """`on("GET", pattern, handler)`; what a handler returns is sent as JSON unless it is an Answer."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def on(self, method: str, pattern: str, handler: Handler) -> None:
        self._routes.insert(0, (method, re.compile(pattern), handler))

    def calls(self, method: str, pattern: str) -> list[Received]:
        return [r for r in list(self.received) if r.method == method and re.fullmatch(pattern, r.path)]

    def start(self) -> None:
        self._server = _server(self._port, self._answer)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        parts = urlsplit(target)
        path = parts.path.removeprefix("/api/v1")
        for wanted, pattern, handler in self._routes:
            match = pattern.fullmatch(path)
            if wanted == method and match:
                received = Received(method, path, dict(parse_qsl(parts.query)), headers, body, match)
                self.received.append(received)
                result = handler(received)
                return result if isinstance(result, Answer) else Answer(body=json.dumps(result).encode())
        return problem(404, "not_found", f"nothing at {method} {path}")


@contextmanager
def running_server() -> Iterator[FakeServer]:
    server = FakeServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _server(port: int, answer: Callable[[str, str, dict[str, str], bytes], Answer]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            result = answer(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            self.send_response(result.status)
            usual = {"Content-Type": result.type, "Content-Length": str(len(result.body))}
            for name, value in (usual | result.headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(result.body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _handle

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            # Clients that leave before the end are what some tests are about.
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)

    return Server(("127.0.0.1", port), Handler)
