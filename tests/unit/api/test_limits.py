"""Bodies that are too large are refused, whether or not they say how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter, Request

from millpond.api.access import PUBLIC
from millpond.testing.server import RunningServer, running_server

MIB = 1 << 20


def a_router() -> APIRouter:
    router = APIRouter()

    @router.post("/echo", dependencies=[PUBLIC])
    def echo(body: dict[str, str]) -> int:
        return len(body)

    @router.put("/projects/{project}/runs/{run}/artifacts/{path:path}", dependencies=[PUBLIC])
    async def put_artifact(request: Request) -> int:
        return sum([len(part) async for part in request.stream()])

    @router.post("/projects/{project}/endpoints/{endpoint}/v2/{path:path}", dependencies=[PUBLIC])
    async def infer(request: Request) -> int:
        return sum([len(part) async for part in request.stream()])

    return router


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, routers=[a_router()]) as running:
        yield running


def pieces(total: int) -> Iterator[bytes]:
    """Sent in chunks without a Content-Length."""
    for _ in range(total // (MIB // 4)):
        yield b"x" * (MIB // 4)


def is_refused(response: httpx.Response) -> bool:
    return response.status_code == 413 and response.json()["code"] == "too_large"


def test_told_beforehand(server: RunningServer) -> None:
    assert is_refused(server.client().post("/echo", content=b"x" * (MIB + 1)))


def test_found_out_while_streaming(server: RunningServer) -> None:
    assert is_refused(server.client().post("/echo", content=pieces(2 * MIB)))


def test_artifacts_may_be_larger(server: RunningServer) -> None:
    path = "/projects/p/runs/r/artifacts/a/b"
    assert server.client().put(path, content=pieces(3 * MIB)).json() == 3 * MIB
    assert is_refused(server.client().put(path, content=pieces(65 * MIB)))


def test_tensors_through_the_server_may_be_larger(server: RunningServer) -> None:
    path = "/projects/p/endpoints/xray/v2/models/xray/infer"
    assert server.client().post(path, content=pieces(3 * MIB)).json() == 3 * MIB


def test_small_bodies_pass(server: RunningServer) -> None:
    assert server.client().post("/echo", json={"a": "b"}).json() == 1
