"""A router and replicas in the test's own event loop."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from millpond.serve.http import HttpServer, Request, Response, json_response, serve_http
from millpond.serve.router.run import Router, RouterOptions
from millpond.serve.router.upstream import Upstream, UpstreamAnswer, ask
from tests.unit.serve.router.routes import a_document, a_replica, an_endpoint

Answer = Callable[[Request], Response | Awaitable[Response]]


class FakeReplica:
    """A replica that says who it is; `answer` may be replaced by anything. `address` is where it listens."""

    def __init__(self, address: str, version: int = 3) -> None:
        self.address = address
        self.version = version
        self.ready = True
        self.seen: list[Request] = []
        self.answer: Answer = lambda request: json_response({"model_name": "chest-xray", "id": self.address})
        self.server: HttpServer | None = None

    async def start(self) -> None:
        self.server = await serve_http(self._handle, listen=self.address, decode_bodies=False)

    async def kill(self) -> None:
        """End at once, as kill -9 does: requests under way are cut off."""
        assert self.server is not None
        await self.server.close()

    def entry(self, **more: Any) -> dict[str, Any]:
        return a_replica(self.address, self.version, **more)

    def _handle(self, request: Request) -> Response | Awaitable[Response]:
        if request.path == "/v2/health/ready":
            return Response(200 if self.ready else 503)
        self.seen.append(request)
        return self.answer(request)


class Routed:
    """A running router, the file it reads, and a client of it."""

    def __init__(self, router: Router, directory: Path) -> None:
        self.router = router
        self.directory = directory
        self.client = Upstream(router.addresses["http"], answer_seconds=60)
        self._revision = 0

    def configure(self, *endpoints: dict[str, Any], **more: Any) -> None:
        """Write a configuration and have it read."""
        self._revision += 1
        document = a_document(*endpoints, **{"revision": self._revision, **more})
        (self.directory / "config.json").write_text(json.dumps(document))
        self.router.look_at_files()

    async def infer(self, path: str = "/v2/models/xray/infer", body: bytes = b"{}", **headers: str) -> UpstreamAnswer:
        return await self.send("POST", path, body, **headers)

    async def get(self, path: str, **headers: str) -> UpstreamAnswer:
        return await self.send("GET", path, b"", **headers)

    async def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> UpstreamAnswer:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{lines}\r\n".encode()
        return await ask(self.client, [head, body])

    async def statuses(self, number: int, together: int = 16, **more: Any) -> Counter[int]:
        """The statuses of many requests, some at a time."""
        left = iter(range(number))
        found: Counter[int] = Counter()

        async def work() -> None:
            for _ in left:
                found[(await self.infer(**more)).status] += 1

        await asyncio.gather(*(work() for _ in range(together)))
        return found

    def stats(self, endpoint: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.router.reporter.document()["endpoints"][endpoint]
        return found

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.005)


@asynccontextmanager
async def routed(
    directory: Path,
    *versions: int,
    weights: dict[int, int] | None = None,
    options: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Routed, list[FakeReplica]]]:
    """A router of the endpoint `xray`, with a replica for each of `versions`."""
    async with AsyncExitStack() as stack:
        replicas = [FakeReplica(f"unix:{directory}/{index}.sock", version) for index, version in enumerate(versions)]
        for replica in replicas:
            await replica.start()
            stack.push_async_callback(replica.kill)
        endpoint = an_endpoint(weights=weights, **{"replicas": [replica.entry() for replica in replicas], **more})
        (directory / "config.json").write_text(json.dumps(a_document(endpoint)))
        router = Router(
            RouterOptions(
                config=directory / "config.json",
                state_dir=directory / "state",
                http="tcp:127.0.0.1:0",
                metrics="tcp:127.0.0.1:0",
                drain_seconds=1,
                **(options or {}),
            )
        )
        await router.start()
        stack.push_async_callback(router.stop)
        yield Routed(router, directory), replicas


def header(answer: UpstreamAnswer, name: str) -> str | None:
    return next((value.decode() for key, value in answer.headers if key == name.encode()), None)


def body(answer: UpstreamAnswer) -> Any:
    return json.loads(b"".join(answer.body))
