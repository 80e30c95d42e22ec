"""The agent's far end: runs next to a job on another machine or in its pod, as long as one stream lasts.

An archive of standard-library Python (`archives`), started by the driver with the engine's own means as
`python -I -S far.pyz DIRECTORY` with the directory of the job's keeper. Its input and output carry messages
(`framing`): the first says what is wanted, the others are the stream's (docs/design/011-tunnels.md). When its input
ends, so does it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from millpond.agent import enter_job
from millpond.agent.drivers.process.ports import listening_at
from millpond.agent.exec_session import run_beside
from millpond.agent.framing import FramedStream
from millpond.agent.keeper.files import read_json
from millpond.agent.keeper.processes import descendants, is_running, marked
from millpond.agent.serving import PIECE, serve_port, told


class StandardStreams:
    """Input and output of this process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls) -> StandardStreams:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: protocol, os.fdopen(0, "rb", closefd=False))
        # Its own protocol: each knows whether its one pipe is full.
        writing = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: writing, os.fdopen(1, "wb", closefd=False))
        return cls(reader, asyncio.StreamWriter(transport, writing, None, loop))

    async def read(self) -> bytes:
        return await self._reader.read(PIECE)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Returns when all that was written is on its way."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


async def serve(directory: Path) -> None:
    streams = await StandardStreams.open()
    stream = FramedStream(streams)
    first = await stream.receive()
    if isinstance(first, str):
        wanted = json.loads(first)
        await told(_exec(directory, wanted, stream) if wanted["kind"] == "exec" else _port(directory, wanted, stream),
                   stream)  # fmt: skip
    await streams.close()


async def _exec(directory: Path, wanted: dict[str, Any], stream: FramedStream) -> None:
    how = "tty" if wanted["tty"] else "pipes"
    command = [sys.executable, "-I", "-S", sys.argv[0], "enter", str(directory), how, *wanted["command"]]
    size = (int(wanted["columns"]), int(wanted["rows"])) if wanted["tty"] else None
    await run_beside(command, stream, terminal=size)


async def _port(directory: Path, wanted: dict[str, Any], stream: FramedStream) -> None:
    port = int(wanted["port"])
    host = listening_at(port, _processes(directory))
    if host is None:
        raise OSError(f"No process of the job listens on port {port}.")
    await serve_port((host, port), stream)


def _processes(directory: Path) -> set[int]:
    """All of the placement on this machine, as far as this account can see; ranks that share it share its ports."""
    spec, owner = (read_json(str(directory / name)) for name in ("spec.json", "claim"))
    placement = spec["placement"] if spec else directory.name
    below = descendants(owner["pid"]) if owner and is_running(owner) else []
    return {process.pid for process in (*below, *marked(placement))}


def main() -> None:
    if sys.argv[1] == "enter":
        del sys.argv[1]
        enter_job.main()
    else:
        asyncio.run(serve(Path(sys.argv[1])))
        # All is said. On its own way out Python stops threads that are still ending (the one that waited for the
        # command does), with a library that small images lack: there this would look like a failure.
        os._exit(0)
