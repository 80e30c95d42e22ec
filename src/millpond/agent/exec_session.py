"""Runs a command next to a job with input and output over a stream: on a terminal, or with separate outputs.

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
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millpond.agent.keeper import processes

if TYPE_CHECKING:
    from millpond.agent.stream import Stream

STDIN, STDOUT, STDERR = 0, 1, 2
PIECE = 1 << 16
# How long what it started may keep its outputs open, and say nothing, after it has ended.
LINGER_SECONDS = 2.0
LOOK_SECONDS = 0.05

_END_OF_INPUT = b"\x04"


async def run_beside(command: Sequence[str], stream: Stream, *, terminal: tuple[int, int] | None) -> None:
    """Run the command until it ends (the exit status is sent) or the other end is gone (it is killed)."""
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


class Channel:
    """Our end of a terminal or pipe. Reads only on demand, so a slow reader slows the command down. Closed by
    us: what asyncio opens stays open as long as anybody holds the other end."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor

    async def read(self, size: int) -> bytes:
        """Available bytes, at least one; empty at the end."""
        loop = asyncio.get_running_loop()
        await _when(loop.add_reader, loop.remove_reader, self._descriptor)
        try:
            return os.read(self._descriptor, size)
        except OSError:  # where a pipe just ends, a terminal that nobody holds any more fails
            return b""

    async def write(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        while data and self._descriptor >= 0:
            await _when(loop.add_writer, loop.remove_writer, self._descriptor)
            with suppress(BlockingIOError):
                data = data[os.write(self._descriptor, data) :]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        """Close; idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


@dataclass(frozen=True)
class RunningCommand:
    """A process in its own session, with its pipes or terminal."""

    process: asyncio.subprocess.Process
    input: Channel
    outputs: Mapping[int, Channel]
    is_terminal: bool

    async def write(self, data: bytes) -> None:
        with suppress(OSError):  # it has ended, or reads no more
            await self.input.write(data)

    async def end_input(self) -> None:
        if self.is_terminal:
            await self.write(_END_OF_INPUT)
        else:
            self.input.close()

    async def end(self) -> None:
        """End the whole session: SIGHUP, as when a terminal closes, then SIGKILL."""
        for number in (signal.SIGHUP, signal.SIGKILL):
            deadline = time.monotonic() + LINGER_SECONDS
            processes.send_signal(await asyncio.to_thread(_session_of, self.process), number)
            while await asyncio.to_thread(_session_of, self.process) and time.monotonic() < deadline:
                await asyncio.sleep(LOOK_SECONDS)
        await self.process.wait()
        for channel in (self.input, *self.outputs.values()):
            channel.close()


def _session_of(process: asyncio.subprocess.Process) -> list[processes.Process]:
    """Whoever is alive of the session that it began. Its number may have been given to another one since it ended; that
    one leads a session of its own."""
    found = [one for one in processes.all_processes() if one.session == process.pid and one.is_alive]
    is_another = process.returncode is not None and any(one.pid == process.pid for one in found)
    return [] if is_another else found


async def _on_terminal(command: Sequence[str], size: tuple[int, int]) -> RunningCommand:
    near, far = pty.openpty()
    terminal = Channel(near)
    try:
        terminal.resize(*size)
        process = await _start(command, far, far, far)
    except BaseException:
        terminal.close()
        raise
    finally:
        os.close(far)
    return RunningCommand(process, terminal, {STDOUT: terminal}, is_terminal=True)


async def _when(add: Callable[..., None], remove: Callable[[int], bool], descriptor: int) -> None:
    """Until the descriptor is ready for what `add` watches."""
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)


async def _with_pipes(command: Sequence[str]) -> RunningCommand:
    (far_in, near_in), (near_out, far_out), (near_err, far_err) = os.pipe(), os.pipe(), os.pipe()
    near = {STDIN: Channel(near_in), STDOUT: Channel(near_out), STDERR: Channel(near_err)}
    try:
        process = await _start(command, far_in, far_out, far_err)
    except BaseException:
        for channel in near.values():
            channel.close()
        raise
    finally:
        for descriptor in (far_in, far_out, far_err):
            os.close(descriptor)
    return RunningCommand(process, near.pop(STDIN), near, is_terminal=False)


async def _start(command: Sequence[str], stdin: int, stdout: int, stderr: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )


async def _hear(stream: Stream, running: RunningCommand) -> bool:
    """True if the other end is still there and only has no more input."""
    while (message := await stream.receive()) is not None:
        if isinstance(message, str):
            size = json.loads(message).get("resize")
            if size and running.is_terminal:
                running.input.resize(int(size[0]), int(size[1]))
        elif message[:1] == bytes([STDIN]):
            if len(message) > 1:
                await running.write(message[1:])
            else:
                await running.end_input()
    return False


async def _tell(stream: Stream, running: RunningCommand) -> None:
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


async def _pass_on(stream: Stream, channel: int, output: Channel, ended: asyncio.Event) -> None:
    while data := await _next(output, ended):
        await stream.send(bytes([channel]) + data)


async def _next(output: Channel, ended: asyncio.Event) -> bytes:
    """Next output; empty when the command has ended and no other process writes."""
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
