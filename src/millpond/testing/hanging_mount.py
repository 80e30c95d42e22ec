"""A file system that hangs when it is told to, as one does whose server is gone: every call on it waits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.testing.waiting import wait_until


class HangingMount:
    """A bindfs mount, whose server can be stopped."""

    def __init__(self, path: Path, server: subprocess.Popen[bytes]) -> None:
        self.path, self._server = path, server

    def hang(self) -> None:
        self._server.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._server.send_signal(signal.SIGCONT)


def why_no_mount() -> str | None:
    """None where one can be had."""
    if shutil.which("bindfs") is None or shutil.which("fusermount3") is None:
        return "needs Debian's bindfs and fuse3"
    return None if os.access("/dev/fuse", os.W_OK) else "needs /dev/fuse"


@contextmanager
def hanging_mount(root: Path) -> Iterator[HangingMount]:
    """Mounted at `root/mount`; what is on it lies in `root/below`."""
    path, below = root / "mount", root / "below"
    for directory in (path, below):
        directory.mkdir(parents=True)
    with subprocess.Popen(["bindfs", "-f", "-o", "allow_other", str(below), str(path)]) as server:
        mount = HangingMount(path, server)
        try:
            wait_until(lambda: os.path.ismount(path), what="the mount")
            yield mount
        finally:
            mount.resume()
            server.terminate()  # it unmounts, unless somebody is there
            server.wait()
            if os.path.ismount(path):
                subprocess.run(["fusermount3", "-u", "-z", str(path)], check=False)
