from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from millpond.agent import exec_session
from millpond.agent.keeper.processes import read_process

MUCH = 300_000


class Reader:
    """Takes everything at once; says nothing."""

    def __init__(self) -> None:
        self.said: list[str | bytes] = []

    async def send(self, message: str | bytes) -> None:
        self.said.append(message)

    async def receive(self) -> str | bytes | None:
        await asyncio.Event().wait()
        return None

    async def close(self) -> None: ...


class SlowReader(Reader):
    """Takes each piece only after longer than silence is waited for."""

    async def send(self, message: str | bytes) -> None:
        await asyncio.sleep(3 * exec_session.LINGER_SECONDS)
        await super().send(message)


@pytest.mark.parametrize("terminal", [None, (80, 24)])
def test_a_slow_reader_gets_everything_of_what_has_ended(
    monkeypatch: pytest.MonkeyPatch, terminal: tuple[int, int] | None
) -> None:
    monkeypatch.setattr(exec_session, "LINGER_SECONDS", 0.02)
    reader = SlowReader()
    command = [sys.executable, "-c", f"print('x' * {MUCH})"]
    asyncio.run(exec_session.run_beside(command, reader, terminal=terminal))
    pieces = b"".join(one[1:] for one in reader.said if isinstance(one, bytes))
    assert pieces.count(b"x") == MUCH
    assert json.loads(str(reader.said[-1])) == {"exit": 0}


def test_what_it_leaves_running_keeps_nobody_waiting_and_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(exec_session, "LINGER_SECONDS", 0.1)
    reader, pid = Reader(), tmp_path / "pid"
    before = sorted(os.listdir("/proc/self/fd"))
    script = f"sleep 600 & echo $! > {pid}; echo started; exit 3"
    asyncio.run(asyncio.wait_for(exec_session.run_beside(["sh", "-c", script], reader, terminal=None), 60))
    assert b"".join(one[1:] for one in reader.said if isinstance(one, bytes)) == b"started\n"
    assert json.loads(str(reader.said[-1])) == {"exit": 3}
    assert sorted(os.listdir("/proc/self/fd")) == before, "no pipe stays open"
    left = read_process(int(pid.read_text()))
    assert left is None or not left.is_alive
