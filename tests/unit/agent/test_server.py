from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import httpx

from millpond.agent.log_file import Taken
from millpond.agent.server import SHIPPING_AT_ONCE, Server
from millpond.testing.builders_work import observed
from millpond.wire.agent import LogAnswer
from millpond.wire.desired import Desired
from millpond.wire.observed import Observed, PlacementSeen


class SlowForLogs(httpx.AsyncBaseTransport):
    """A server that answers questions at once, and logs when it is told to."""

    def __init__(self) -> None:
        self.under_way = self.most = 0
        self.go_on = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/agents/sync"):
            answer = Desired(
                revision="1",
                agent_id="a",
                site="s",
                volumes=[],
                fills=[],
                placements=[],
                word_seconds=60,
                server_time=datetime.now(UTC),
            )
            return httpx.Response(200, content=answer.model_dump_json())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.go_on.wait()
        self.under_way -= 1
        return httpx.Response(200, content=LogAnswer(offset=1).model_dump_json())


def test_the_exchange_does_not_wait_behind_logs() -> None:
    async def with_hundreds_of_jobs() -> None:
        transport = SlowForLogs()
        server = Server("http://server", "token", transport=transport)
        logs = [asyncio.ensure_future(server.put_log(f"p{n}", Taken(0, b"x"), durable=False)) for n in range(200)]
        answer = await asyncio.wait_for(server.sync(observed()), 60)
        assert answer.agent_id == "a"
        transport.go_on.set()
        await asyncio.gather(*logs)
        assert transport.most == SHIPPING_AT_ONCE
        await server.close()

    asyncio.run(with_hundreds_of_jobs())


def test_what_is_no_text_is_told_all_the_same() -> None:
    """A job may have given any name to a file that its agent has to speak of."""
    heard: list[bytes] = []

    async def hear(request: httpx.Request) -> httpx.Response:
        heard.append(await request.aread())
        return await SlowForLogs().handle_async_request(request)

    async def tell() -> None:
        server = Server("http://server", "token", transport=httpx.MockTransport(hear))
        seen = PlacementSeen(id="p1", state="finished", problem="cannot be saved: a\udcff")
        await server.sync(observed(placements=[seen]))
        await server.close()

    asyncio.run(tell())
    assert Observed.model_validate_json(heard[0]).placements[0].problem == "cannot be saved: a?"
