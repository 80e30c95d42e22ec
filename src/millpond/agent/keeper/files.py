"""Files of a placement's directory: claimed once, seen whole or not at all."""

# ruff: noqa: PTH105, PTH108

from __future__ import annotations

import errno
import json
import os
import time

from .processes import identity

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Between tries to write to a disk that is full.
FULL_SECONDS = 1.0


def claim(name: str, place: dict[str, Any] | None = None) -> bool:
    """Take the placement for this process; False when it has an owner. The file appears whole or not at all.

    `place` is told with it: where a rank of a distributed job is.
    """
    temporary = f"{name}.{os.getpid()}.new"
    with open(temporary, "w") as file:
        json.dump({**identity(os.getpid()), **(place or {})}, file)
    try:
        os.link(temporary, name)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


def write_whole(name: str, text: str, durable: bool = False) -> None:
    """Readers see the old content or the new; `durable`: it survives a power cut once this returns."""
    temporary = f"{name}.{os.getpid()}.new"
    with open(temporary, "w") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, name)
    if durable:
        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(directory)
        os.close(directory)


def read_text(name: str) -> str | None:
    try:
        with open(name) as file:
            return file.read()
    except FileNotFoundError:
        return None


def read_json(name: str) -> Any:
    text = read_text(name)
    return None if text is None else json.loads(text)


def write_end(log: int, record: str) -> None:
    """How the command ended must not be lost: on a disk that is full, this waits until there is room."""
    while True:
        try:
            if os.fstat(log).st_size:
                os.fsync(log)
            write_whole("exit.json", record, durable=True)
            return
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(FULL_SECONDS)
