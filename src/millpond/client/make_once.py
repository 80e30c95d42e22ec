"""Folders that several processes want and one makes: filled aside, published by one rename.

A lock file keeps the others waiting instead of doing the same work. It is only a courtesy: whatever becomes of it,
the rename decides, and nobody ever sees half a folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# A maker that gives no sign of life for this long is taken for dead.
STALE_SECONDS = 60.0
_SIGN_SECONDS = 5.0
_LOOK_SECONDS = 0.1
_LEFT_BEHIND_SECONDS = 86_400.0

# Called now and then by whoever fills a folder, from any thread: it lives.
Alive = Callable[[], None]


def make_once(target: Path, fill: Callable[[Path, Alive], None], *, stale: float = STALE_SECONDS) -> Path:
    """`target`, which `fill` has filled: by us, or by another process for whom we waited.

    An error of `fill` is raised, and leaves nothing behind.
    """
    lock = target.with_name(f".{target.name}.lock")
    watch = _Watch(lock)
    while not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _take(lock):
            if watch.unchanged_for() > stale:
                lock.unlink(missing_ok=True)
            time.sleep(_LOOK_SECONDS)
            continue
        try:
            if not target.is_dir():
                _make(target, fill, _signs_of_life(lock))
        finally:
            lock.unlink(missing_ok=True)
    return target


def _make(target: Path, fill: Callable[[Path, Alive], None], alive: Alive) -> None:
    _clear_left_behind(target)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        temporary.chmod(0o755)
        fill(temporary, alive)
        if hasattr(os, "sync"):
            os.sync()  # what is published is whole, also after a power cut
        temporary.rename(target)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        if not target.is_dir():
            raise
        # Somebody who took us for dead was quicker: theirs is as good as ours.
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _take(lock: Path) -> bool:
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


class _Watch:
    """How long a file has stayed as it is, by our own clock: no two clocks need agree."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: int | None = None
        self._since = time.monotonic()

    def unchanged_for(self) -> float:
        try:
            stamp = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            stamp = None
        if stamp is None or stamp != self._seen:
            self._seen, self._since = stamp, time.monotonic()
        return time.monotonic() - self._since


def _signs_of_life(lock: Path) -> Alive:
    last = time.monotonic()

    def alive() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SIGN_SECONDS:
            last = now
            with suppress(FileNotFoundError):  # somebody took us for dead: the rename decides
                os.utime(lock)

    return alive


def _clear_left_behind(target: Path) -> None:
    """Parts of makers that were killed long ago."""
    for part in target.parent.glob(f".{target.name}.*.part"):
        with suppress(FileNotFoundError):
            if time.time() - part.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                shutil.rmtree(part, ignore_errors=True)
