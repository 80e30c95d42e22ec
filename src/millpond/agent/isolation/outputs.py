"""Taking a job's outputs back from its account before they are read by an agent that may read everything.

A job may have left links to files that are not its own, and a process of the same project could still change names
while they are read. So the directories are taken first; then no name in them changes any more, and every file is
looked at for whose it is.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def take_back(output: Path, uid: int) -> None:
    """Make all directories below `output` the agent's own. OSError names a file of another account than `uid`.

    Links stay links: whoever reads must not follow them.
    """
    root = os.open(output, _DIRECTORY)
    try:
        waiting = ["."]
        while waiting:
            directory = waiting.pop()
            # What is above was taken already: nobody can have put something else there.
            descriptor = os.open(directory, _DIRECTORY, dir_fd=root)
            try:
                os.fchown(descriptor, os.geteuid(), os.getegid())
                os.fchmod(descriptor, 0o700)
                waiting += [f"{directory}/{name}" for name in _checked(descriptor, directory, uid)]
            finally:
                os.close(descriptor)
    finally:
        os.close(root)


def _checked(descriptor: int, directory: str, uid: int) -> list[str]:
    """The directories in this one, once every file in it is known to be of the account."""
    below: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                below.append(entry.name)
            elif stat.S_ISREG(found.st_mode) and found.st_uid != uid:
                path = f"{directory}/{entry.name}".removeprefix("./")
                raise OSError(f"{path!r} is a link to a file that is not the job's own")
    return below
