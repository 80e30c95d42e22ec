"""Starting the command of a job, in a session of its own."""

from __future__ import annotations

import json
import os
import signal

from .files import read_text
from .guard import SIGNALS
from .kernel import PR_SET_PDEATHSIG, prctl

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .confinement import Confinement
    from .guard import Guard
    from .log import Output
    from .rank import Rank


def start(
    spec: dict[str, Any], out: Output, confinement: Confinement, rank: Rank, guard: Guard
) -> tuple[int, dict[str, Any] | None]:
    """Start the command in a session of its own; its pid, and why it failed when it could not be started."""
    environment = {**environment_of(spec), **rank.environment()}
    reader, writer = os.pipe()  # closed by a successful exec, written to by a failed one
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.setsid()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            # Ignored by the keeper, by Python itself, or by whoever started the agent (nohup, a shell's `&`).
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                if signal.getsignal(number) is signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.writer, 1)
            os.dup2(out.writer, 2)
            confinement.enter()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it is lost where the account changes
            os.chdir(spec["directory"])
            os.execvpe(spec["command"][0], spec["command"], {**environment, **confinement.env})
        except BaseException as error:  # noqa: BLE001 - whatever it is, this copy of the keeper must end here
            os.write(writer, json.dumps(_why_not(error, spec)).encode())
        os._exit(127)
    guard.began(pid)
    os.close(writer)
    out.begin()
    with os.fdopen(reader, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        return pid, json.loads(failure)
    return pid, None


def environment_of(spec: dict[str, Any]) -> dict[str, str]:
    """What the command sees. A container brings an environment of its own, PATH first of all; a site's init lines have
    left theirs in a file, as `env -0` prints it."""
    env: dict[str, str] = spec["env"]
    if spec.get("image"):
        return {**os.environ, **env}
    printed = read_text("environment")
    if printed is None:
        return env
    return {**env, **dict(pair.split("=", 1) for pair in printed.split("\0") if "=" in pair)}


def _why_not(error: BaseException, spec: dict[str, Any]) -> dict[str, Any]:
    command = spec["command"][0]
    if isinstance(error, OSError) and error.filename == spec["directory"]:
        return {"exit_code": 126, "problem": f"Cannot enter the working directory: {error.strerror}."}
    if isinstance(error, FileNotFoundError):
        return {"exit_code": 127, "problem": f"Command not found: {command!r}."}
    if isinstance(error, PermissionError):
        return {"exit_code": 126, "problem": f"Permission denied: {command!r} is not executable."}
    return {"exit_code": 126, "problem": f"Cannot start the command {command!r}: {error}."}
