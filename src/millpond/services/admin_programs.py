"""Programs that an administrator has put on the server: told by environment variables, they answer on stdout."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from millpond.errors import MillError
from millpond.trust import CA_FILE

_TOLD_BYTES = 4_000_000
_SAID = 500


def run_program(program: Path, told: Mapping[str, str], *, seconds: float, failed: Callable[[str], MillError]) -> str:
    """What the program printed; the error of `failed` if it cannot be run, fails, or takes longer than `seconds`.

    Whatever it started is killed with it when its time is over.
    """
    env = {key: value for key, value in os.environ.items() if not key.startswith("MILL_") or key == CA_FILE}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [str(program)], env={**env, **told}, cwd=program.parent,
                stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise failed(f"`{program.name}` cannot be run: {error.strerror}.") from error
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise failed(f"`{program.name}` took longer than {seconds:.0f} s.") from error
        finally:
            _kill_group(process)
        if code:
            raise failed(f"`{program.name}` failed with exit code {code}: {_last_line(errors)}")
        out.seek(0)
        return out.read(_TOLD_BYTES).decode(errors="replace")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a program that took too long. A machine that it started as a daemon is not among them."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read(_TOLD_BYTES).decode(errors="replace").strip().splitlines()
    return lines[-1][:_SAID] if lines else "no message"
