from __future__ import annotations

import asyncio

import httpx
import pytest

from millpond.mcp.over_http import Receive, Scope, Send, with_key


async def _hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer right", 200),
        ("Bearer wrong", 401),
        ("Bearer right ", 401),
        ("", 401),
        (None, 401),
        ("Bearer ümlaut", 401),
    ],
)
def test_only_the_key_opens(header: str | None, status: int) -> None:
    async def ask() -> int:
        transport = httpx.ASGITransport(with_key(_hello, "right"))  # type: ignore[arg-type]
        headers = {} if header is None else {b"authorization": header.encode()}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.post("/mcp", headers=headers)).status_code  # type: ignore[arg-type]

    assert asyncio.run(ask()) == status
