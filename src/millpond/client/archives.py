"""A directory of a commit as a zip file, as the server makes it: whole on the disk, or not there at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from millpond.client.http import Api
from millpond.client.paths import commit_path
from millpond.errors import NameTaken, ServerUnreachable, Unavailable

_READ_BYTES = 1 << 20


def save_zip(
    api: Api,
    project: str,
    name: str,
    ref: str,
    path: str,
    target: Path,
    *,
    force: bool = False,
    progress: Callable[[int], None] = lambda received: None,
) -> int:
    """Write everything below `path` (empty: all of it) to the zip file `target`; its size.

    NameTaken if that is there, unless `force`. Unavailable if the archive ended early, because the server stopped or
    because something in the lake is damaged: then nothing is left behind.
    """
    if target.exists() and not force:
        raise NameTaken(f"{target} already exists.", hint="Name another file, or overwrite it with --force.")
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            received = _receive(api, f"{commit_path(project, name, ref)}/zip", path, file.write, progress)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    return received


def _receive(api: Api, address: str, path: str, write: Callable[[bytes], int], progress: Callable[[int], None]) -> int:
    received, begun = 0, False
    try:
        with api.stream(address, _READ_BYTES, path=path) as answer:
            begun = True
            for part in answer.pieces:
                received += write(part)
                progress(received)
    except ServerUnreachable as error:
        if not begun:
            raise
        raise Unavailable(
            "The download of the archive was cut off.",
            hint="Try again. If it stops at the same place, find the damage: mill data verify",
        ) from error
    return received
