"""Going through a tree in the order of its paths, as commits have it, without looking at its files one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from millpond.volumes.workspaces.tree_process import opened_below

# Files that are handed on together.
AT_ONCE = 512
_SLASH = b"/"[0]


class Entered(NamedTuple):
    """A directory, before anything in it."""

    path: bytes
    status: os.stat_result


class Files(NamedTuple):
    """Names in a directory, of anything but directories, one behind the other in the order of paths."""

    directory: bytes
    names: list[bytes]


def walk(root: int) -> Iterator[Entered | Files]:
    """All below the open directory `root`, itself first. What vanishes meanwhile is left out; no link is followed."""
    waiting: list[list[bytes]] = []
    above: list[bytes] = []
    entered = _list(root, b"")
    while True:
        if entered is not None:
            status, keys, path = entered
            yield Entered(path, status)
            keys.sort(reverse=True)
            waiting.append(keys)
            above.append(path)
            entered = None
        if not waiting:
            return
        path, keys = above[-1], waiting[-1]
        names: list[bytes] = []
        while keys and keys[-1][-1] != _SLASH and len(names) < AT_ONCE:
            names.append(keys.pop())
        if names:
            yield Files(path, names)
        elif keys:
            name = keys.pop()[:-1]
            entered = _list(root, path + b"/" + name if path else name)
        else:
            waiting.pop()
            above.pop()


def _list(root: int, path: bytes) -> tuple[os.stat_result, list[bytes], bytes] | None:
    """Its status and what it holds: what lies below a directory sorts behind its name and `/`. None if it is gone."""
    with suppress(FileNotFoundError), opened_below(root, path) as descriptor:
        status = os.fstat(descriptor)
        # scandir of a descriptor gives text; the rest of the path is bytes as well.
        with os.scandir(descriptor) as entries:
            keys = [
                os.fsencode(entry.name) + (b"/" if entry.is_dir(follow_symlinks=False) else b"") for entry in entries
            ]
        return status, keys, path
    return None
