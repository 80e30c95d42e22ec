"""Samples of a distributed job are those of all its ranks together."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from millpond.agent.usage import UsageShipper
from millpond.testing.agents import FakeServer
from millpond.wire.agent import UsageSample


def sample(at: float, **used: Any) -> str:
    nothing = {"cpu_percent": 0.0, "memory_bytes": 0, "read_bytes": 0, "write_bytes": 0, "network_shared": True}
    return json.dumps({"at": at, **nothing, **used}) + "\n"


def shipped(*keepers: Path) -> list[UsageSample]:
    async def main() -> FakeServer:
        server = FakeServer()
        connection = server.connection()
        shipper = UsageShipper(connection, "p1", keepers, dict)
        while await shipper.ship():
            pass
        await connection.close()
        return server

    return asyncio.run(main()).usage["p1"]


def test_what_ranks_use_is_added_up(tmp_path: Path) -> None:
    ranks = [tmp_path / str(rank) for rank in range(3)]
    used = [
        sample(1000.0, cpu_percent=50.0, memory_bytes=10, read_bytes=1, received_bytes=100),
        sample(1000.5, cpu_percent=30.0, memory_bytes=20, read_bytes=2, received_bytes=120),
        # It ended long ago: what it has read stays read.
        sample(900.0, cpu_percent=99.0, memory_bytes=30, read_bytes=4, received_bytes=20),
    ]
    for rank, line in zip(ranks, used, strict=True):
        rank.mkdir()
        (rank / "usage.jsonl").write_text(line)
    (found,) = shipped(*ranks)
    assert (found.cpu_percent, found.memory_bytes, found.read_bytes) == (80.0, 30, 7)
    assert found.received_bytes == 120  # they share the machine's network
    assert found.at.timestamp() == 1000.5


def test_ranks_that_have_told_nothing_count_nothing(tmp_path: Path) -> None:
    (tmp_path / "usage.jsonl").write_text(sample(1000.0, memory_bytes=10))
    (found,) = shipped(tmp_path, tmp_path / "not-there")
    assert found.memory_bytes == 10
