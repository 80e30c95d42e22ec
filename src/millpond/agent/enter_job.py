"""Runs a command in the context of a running job: its environment, directory, account, limits and files.

One file of standard-library Python, run in a session of its own as
`python -I -S enter_job.py DIRECTORY tty|pipes COMMAND…` with the directory of the job's keeper: the placement's, or
that of one rank of a distributed job. The package `keeper` is beside it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import termios
from pathlib import Path


def enter(directory: Path, *, tty: bool, command: list[str]) -> None:
    """Replace this process by the command. Never returns."""
    spec = json.loads((directory / "spec.json").read_bytes())
    if tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.path.insert(0, str(Path(__file__).parent))
    from keeper.command import environment_of  # type: ignore[import-not-found]  # noqa: PLC0415  (the package beside it)

    os.chdir(directory)
    rank = {}
    if spec.get("gang"):
        from keeper import gang  # type: ignore[import-not-found]  # noqa: PLC0415  (few jobs need it)

        rank = gang.environment(spec["gang"]["rank"], gang.all_places(spec["gang"]["size"]), spec["placement"])
    environment = {
        **environment_of(spec),
        **rank,
        **({"TERM": os.environ.get("TERM", "xterm-256color")} if tty else {}),
    }
    confinement = directory / "confinement.json"
    if confinement.exists():
        from keeper import confine  # noqa: PLC0415

        how = json.loads(confinement.read_bytes())
        confine.confine(how)
        environment |= how.get("env", {})
    os.chdir(spec["directory"])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvpe(command[0], command, environment)


def main() -> None:
    directory, how, *command = sys.argv[1:]
    try:
        enter(Path(directory), tty=how == "tty", command=command)
    except OSError as error:
        sys.stderr.write(f"{error.filename or command[0]}: {error.strerror or error}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
