"""A full disk, a database that is away and values it cannot hold are told as what they are."""

from __future__ import annotations

import errno
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter
from sqlalchemy import event, text

from millpond.api.access import PUBLIC, DepsOf
from millpond.testing.server import RunningServer, running_server


def answer(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def test_database_without_room(tmp_path: Path, server: RunningServer) -> None:
    admin = server.admin
    assert admin.post("/projects", json={"name": "before"}).status_code == 201
    engine = server.deps.db.engine

    @event.listens_for(engine, "connect")
    def _limit(connection: object, _entry: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # type: ignore[attr-defined]

    engine.dispose()
    description = "x" * 500_000
    full = admin.post("/projects", json={"name": "after", "description": description})
    assert answer(full) == (507, "disk_full")
    assert admin.get("/projects/before").status_code == 200
    assert admin.get("/projects/after").status_code == 404


def a_router() -> APIRouter:
    router = APIRouter()

    @router.get("/full", dependencies=[PUBLIC])
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    @router.get("/mistake", dependencies=[PUBLIC])
    def mistake() -> None:
        raise FileNotFoundError("secret path")

    @router.get("/number", dependencies=[PUBLIC])
    def number(deps: DepsOf) -> None:
        with deps.db.read() as tx:
            tx.execute(text("SELECT :n"), {"n": 10**30})

    @router.get("/away", dependencies=[PUBLIC])
    def away(deps: DepsOf) -> None:
        with deps.db.read() as tx:
            tx.execute(text("SELECT * FROM nothing"))

    return router


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/full", (507, "disk_full")),
        ("/mistake", (500, "internal")),
        ("/number", (422, "invalid")),
        ("/away", (503, "unavailable")),
    ],
)
def test_what_the_caller_is_told(tmp_path: Path, path: str, expected: tuple[int, str]) -> None:
    with running_server(tmp_path, routers=[a_router()]) as server:
        response = server.client().get(path)
    assert answer(response) == expected
    assert "secret" not in response.text and "nothing" not in response.json()["detail"]


def test_cursor_that_no_list_has_given(server: RunningServer) -> None:
    for cursor in ("MTAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA", "IngiIg", "W10", "bnVsbA", "%"):
        assert server.admin.get("/audit", params={"cursor": cursor}).status_code == 400
