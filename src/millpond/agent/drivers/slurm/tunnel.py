"""The agent's far end as a step of a running Slurm job: `srun --overlap`, on the node where the keeper is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from millpond.agent.serving import PIECE

# Steps share what their job has: asked for since this version, given without asking before it.
_OVERLAP_SINCE = (20, 11)
# How long srun may take to end after its input has.
LEAVE_SECONDS = 10.0


def step_arguments(job: str, version: str, node: str | None = None) -> list[str]:
    """Of srun: one task that shares all of the job, on `node` where the job has several. Its output must come as it is,
    not a line at a time."""
    known = re.match(r"(\d+)\.(\d+)", version)
    overlap = ["--overlap"] if known is None or (int(known[1]), int(known[2])) >= _OVERLAP_SINCE else []
    where = [f"--nodelist={node}"] if node else []
    return [f"--jobid={job}", *overlap, *where, "--nodes=1", "--ntasks=1", "--unbuffered", "--quiet", "--chdir=/"]


class ProgramStream:
    """Input and output of a program; what it says when it fails becomes the error."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin and process.stdout and process.stderr  # piped, below
        self._input, self._output = process.stdin, process.stdout
        self._errors = asyncio.ensure_future(process.stderr.read())

    @classmethod
    async def open(cls, command: Sequence[str], environment: Mapping[str, str]) -> ProgramStream:
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment), start_new_session=True
            )
        )

    async def read(self) -> bytes:
        data = await self._output.read(PIECE)
        if not data and await self._process.wait():
            raise ConnectionError(_last_words(await self._errors) or "Slurm closed the stream.")
        return data

    async def write(self, data: bytes) -> None:
        self._input.write(data)
        await self._input.drain()

    async def close(self) -> None:
        """The far end leaves when its input ends, and srun with it."""
        self._input.close()
        try:
            await asyncio.wait_for(self._process.wait(), LEAVE_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._errors.cancel()


def _last_words(printed: bytes) -> str:
    lines = [line for line in printed.decode(errors="replace").splitlines() if line.strip()]
    return re.sub(r"^srun: (error: )?", "", lines[-1]) if lines else ""
