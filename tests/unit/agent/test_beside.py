from __future__ import annotations

import asyncio
import json
import sys

import pytest

from millpond.agent import beside

MUCH = 300_000


class SlowReader:
    """Takes each piece only after longer than silence is waited for."""

    def __init__(self) -> None:
        self.said: list[str | bytes] = []

    async def send(self, message: str | bytes) -> None:
        await asyncio.sleep(3 * beside.LINGER_SECONDS)
        self.said.append(message)

    async def receive(self) -> str | bytes | None:
        await asyncio.Event().wait()
        return None

    async def close(self) -> None: ...


@pytest.mark.parametrize("terminal", [None, (80, 24)])
def test_a_slow_reader_gets_everything_of_what_has_ended(
    monkeypatch: pytest.MonkeyPatch, terminal: tuple[int, int] | None
) -> None:
    monkeypatch.setattr(beside, "LINGER_SECONDS", 0.02)
    reader = SlowReader()
    command = [sys.executable, "-c", f"print('x' * {MUCH})"]
    asyncio.run(beside.run_beside(command, reader, terminal=terminal))
    pieces = b"".join(one[1:] for one in reader.said if isinstance(one, bytes))
    assert pieces.count(b"x") == MUCH
    assert json.loads(str(reader.said[-1])) == {"exit": 0}
