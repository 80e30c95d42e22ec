"""A command beside a job, with its input and output over a stream: on a terminal, or with its outputs apart.

Standard library alone, from Python 3.9 on: it runs in the agent, or in the agent's far end where the job is.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from millpond.agent.stream import Stream

STDIN, STDOUT, STDERR = 0, 1, 2
PIECE = 1 << 16
# How long what it started may keep its outputs open, and say nothing, after it has ended.
LINGER_SECONDS = 2.0

_END_OF_INPUT = b"\x04"


async def run_beside(command: Sequence[str], stream: Stream, *, terminal: tuple[int, int] | None) -> None:
    """Run it until it ends, which is told, or until the other end is gone, which ends it."""
    running = await (_on_terminal(command, terminal) if terminal else _with_pipes(command))
    try:
        await stream.send(json.dumps({"opened": True}))
        hearing = asyncio.ensure_future(_hear(stream, running))
        telling = asyncio.ensure_future(_tell(stream, running))
        try:
            await asyncio.wait({hearing, telling}, return_when=asyncio.FIRST_COMPLETED)
            if not telling.done() and hearing.result():
                await telling  # its input is at an end, it is not
        finally:
            for task in (hearing, telling):
                task.cancel()
            await asyncio.gather(hearing, telling, return_exceptions=True)
    finally:
        await running.end()


class Output(Protocol):
    async def read(self, size: int) -> bytes:
        """What there is, at least a byte; nothing at the end."""
        ...


class Terminal:
    """The near end of a terminal. Nothing is read before somebody asks for it: a slow reader slows the command down."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    async def read(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        await _when(loop.add_reader, loop.remove_reader, self._descriptor)
        try:
            return os.read(self._descriptor, size)
        except OSError:  # where a pipe just ends, a terminal that nobody holds any more fails
            return b""

    async def write(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        while data:
            await _when(loop.add_writer, loop.remove_writer, self._descriptor)
            data = data[os.write(self._descriptor, data) :]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        os.close(self._descriptor)


@dataclass(frozen=True)
class Running:
    """A process in a session of its own, and what it writes to; `terminal` if it runs on one."""

    process: asyncio.subprocess.Process
    outputs: Mapping[int, Output]
    terminal: Terminal | None = None

    async def write(self, data: bytes) -> None:
        with suppress(OSError):  # it has ended, or reads no more
            if self.terminal is not None:
                await self.terminal.write(data)
            elif self.process.stdin is not None:
                self.process.stdin.write(data)
                await self.process.stdin.drain()

    async def end_input(self) -> None:
        if self.terminal is not None:
            await self.write(_END_OF_INPUT)
        elif self.process.stdin is not None:
            self.process.stdin.close()

    async def end(self) -> None:
        """As a terminal that is closed ends what runs on it; then for sure."""
        for number in (signal.SIGHUP, signal.SIGKILL):
            if self.process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, number)
                with suppress(asyncio.TimeoutError):  # another one before Python 3.11
                    await asyncio.wait_for(self.process.wait(), LINGER_SECONDS)
        if self.terminal is not None:
            self.terminal.close()


async def _on_terminal(command: Sequence[str], size: tuple[int, int]) -> Running:
    near, far = pty.openpty()
    terminal = Terminal(near)
    try:
        terminal.resize(*size)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=far, stdout=far, stderr=far, start_new_session=True
        )
    except BaseException:
        terminal.close()
        raise
    finally:
        os.close(far)
    return Running(process, {STDOUT: terminal}, terminal)


async def _when(add: Callable[..., None], remove: Callable[[int], bool], descriptor: int) -> None:
    """Until the descriptor is ready for what `add` watches."""
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)


async def _with_pipes(command: Sequence[str]) -> Running:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    assert process.stdout is not None and process.stderr is not None  # piped, above
    return Running(process, {STDOUT: process.stdout, STDERR: process.stderr})


async def _hear(stream: Stream, running: Running) -> bool:
    """Whether the other end is still there, and only has no more input."""
    while (message := await stream.receive()) is not None:
        if isinstance(message, str):
            size = json.loads(message).get("resize")
            if size and running.terminal is not None:
                running.terminal.resize(int(size[0]), int(size[1]))
        elif message[:1] == bytes([STDIN]):
            if len(message) > 1:
                await running.write(message[1:])
            else:
                await running.end_input()
    return False


async def _tell(stream: Stream, running: Running) -> None:
    ended = asyncio.Event()
    passing = [asyncio.ensure_future(_pass_on(stream, number, one, ended)) for number, one in running.outputs.items()]
    try:
        code = await running.process.wait()
        ended.set()
        await asyncio.gather(*passing)
        await stream.send(json.dumps({"exit": code if code >= 0 else 128 - code}))
    finally:
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)


async def _pass_on(stream: Stream, channel: int, output: Output, ended: asyncio.Event) -> None:
    while data := await _next(output, ended):
        await stream.send(bytes([channel]) + data)


async def _next(output: Output, ended: asyncio.Event) -> bytes:
    """Nothing once it has ended and whoever still holds the output is silent. A slow reader loses nothing by that."""
    reading = asyncio.ensure_future(output.read(PIECE))
    lingering = asyncio.ensure_future(_linger(ended))
    try:
        await asyncio.wait({reading, lingering}, return_when=asyncio.FIRST_COMPLETED)
        return reading.result() if reading.done() else b""
    finally:
        for task in (reading, lingering):
            task.cancel()


async def _linger(ended: asyncio.Event) -> None:
    await ended.wait()
    await asyncio.sleep(LINGER_SECONDS)
