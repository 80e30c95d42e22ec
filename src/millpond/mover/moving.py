"""One move: list both sides, decide for each file, and carry it out with several threads."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from .bucket import Bucket, Mismatch, MoveFailed, is_md5, md5_of
from .keys import OWN, both_file_and_directory, path_of
from .plan import Action, Decision, Here, Noted, There, to_bring, to_send
from .state import MoveState

THREADS = 16
_BATCH = 500
_NAMED = 100
_TELL_SECONDS = 5.0


@dataclass
class Summary:
    """What a move did, or with `dry_run` would do. Of conflicts and skipped keys the first hundred are named."""

    dry_run: bool = False
    copied: int = 0
    copied_bytes: int = 0
    unchanged: int = 0
    removed: int = 0
    kept: int = 0
    conflict_count: int = 0
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    skipped_count: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed_count: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)

    def conflict(self, path: str, why: str) -> None:
        self.conflict_count += 1
        _name(self.conflicts, path, why)

    def skip(self, path: str, why: str) -> None:
        self.skipped_count += 1
        _name(self.skipped, path, why)

    def fail(self, path: str, why: str) -> None:
        self.failed_count += 1
        _name(self.failed, path, why)


class NoRoom(MoveFailed):
    """The disk is full: going on would not help."""


class Move:
    """`outwards`: from the directory to the bucket. Every file is whole or not there, whenever this ends."""

    def __init__(
        self,
        bucket: Bucket,
        directory: Path,
        *,
        outwards: bool,
        delete: bool = False,
        dry_run: bool = False,
        tell: Callable[[str], None] = lambda line: None,
        threads: int = THREADS,
        state_in: Path | None = None,
    ) -> None:
        self._bucket, self._directory, self._outwards = bucket, directory, outwards
        self._delete, self._threads, self._tell = delete, threads, tell
        self.summary = Summary(dry_run=dry_run)
        # A directory that cannot be written has its state elsewhere.
        self._state = MoveState(state_in or directory, bucket.root, outwards=outwards)
        self._lock = threading.Lock()
        self._told = time.monotonic()
        self._plain: set[Path] = set()

    def run(self) -> Summary:
        """MoveFailed if it cannot go on; what is done by then is done, and the next move begins behind it."""
        if not self.summary.dry_run:
            self._state.open()
        try:
            there = dict(self._objects())
            here = dict(self._files())
            self._carry_out(self._decided(here, there), here, there)
        finally:
            if not self.summary.dry_run:
                self._state.close()
        return self.summary

    def _objects(self) -> Iterator[tuple[str, There]]:
        found: dict[str, There] = {}
        for key, there in self._bucket.objects():
            path, why = path_of(key)
            if path is None:
                self.summary.skip(key, why)
            elif path:
                found[path] = there
        for path in both_file_and_directory(found):
            if not self._outwards:
                self.summary.skip(path, "is a file and a directory of others")
                del found[path]
        yield from found.items()

    def _files(self) -> Iterator[tuple[str, Here]]:
        """Plain files below the directory. Links and others are skipped, and said so when files are sent."""
        base = os.fspath(self._directory)
        for top, directories, names in os.walk(base):
            if top == base and OWN in directories:
                directories.remove(OWN)
            for name in (*directories, *names):
                path = f"{top}/{name}"
                found = os.lstat(path)
                short = os.path.relpath(path, base)
                if stat.S_ISREG(found.st_mode):
                    yield short, Here(found.st_size, found.st_mtime_ns)
                elif not stat.S_ISDIR(found.st_mode) and self._outwards:
                    self.summary.skip(short, "is no plain file")

    def _decided(self, here: dict[str, Here], there: dict[str, There]) -> Iterator[tuple[str, Decision]]:
        decide = to_send if self._outwards else to_bring
        for path in sorted(here.keys() | there.keys() | self._state.noted.keys()):
            if self._outwards and not _is_key(path):
                self.summary.skip(path, "its name is not UTF-8, as keys are")
                continue
            noted = self._state.noted.get(path)
            yield path, decide(here.get(path), there.get(path), noted, delete=self._delete)

    def _carry_out(
        self, decided: Iterator[tuple[str, Decision]], here: dict[str, Here], there: dict[str, There]
    ) -> None:
        with ThreadPoolExecutor(self._threads, "move") as pool:
            try:
                while batch := list(islice(decided, _BATCH)):
                    self._sign_ahead(batch)
                    tasks = [
                        pool.submit(self._one, path, what, here.get(path), there.get(path)) for path, what in batch
                    ]
                    for task in tasks:
                        task.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _sign_ahead(self, batch: list[tuple[str, Decision]]) -> None:
        copied = [path for path, decision in batch if decision.action is Action.COPY]
        if copied and not self.summary.dry_run:
            self._bucket.sign_ahead("PUT" if self._outwards else "GET", copied)

    def _one(self, path: str, decision: Decision, here: Here | None, there: There | None) -> None:
        try:
            self._do(path, decision, here, there)
        except NoRoom:
            raise
        except (MoveFailed, OSError) as error:
            with self._lock:
                if isinstance(error, MoveFailed) and "meanwhile" in str(error):
                    self.summary.conflict(path, str(error))
                else:
                    self.summary.fail(path, str(error))

    def _do(self, path: str, decision: Decision, here: Here | None, there: There | None) -> None:
        if decision.action in (Action.SAME, Action.KEEP, Action.CONFLICT):
            self._count(path, decision)
            return
        if decision.action is Action.CHECK:
            assert here is not None and there is not None
            if not self._is_same(path, here, there):
                self._count(path, Decision(Action.CONFLICT, decision.why))
                return
            self._note(path, Noted(there.etag, here.size, here.mtime_ns))
            self._count(path, Decision(Action.SAME))
            return
        if not self.summary.dry_run:
            if decision.action is Action.REMOVE:
                self._remove(path)
            else:
                self._send(path, here, there) if self._outwards else self._bring(path, there)
        size = (here if self._outwards else there) or Here(0, 0)
        self._count(path, decision, size.size if decision.action is Action.COPY else 0)

    def _is_same(self, path: str, here: Here, there: There) -> bool:
        """By their digests; an object that came in parts has none that could be compared."""
        return here.size == there.size and is_md5(there.etag) and md5_of(self._directory / path) == there.etag

    def _bring(self, path: str, there: There | None) -> None:
        assert there is not None
        target = self._directory / path
        self._make_parents(target.parent)
        temporary = self._state.temporary / f"{threading.get_ident()}"
        try:
            self._bucket.fetch(path, there, temporary)
            if target.is_symlink() or (target.exists() and not target.is_file()):
                raise MoveFailed("something that is no plain file is in its place")
            temporary.replace(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            if error.errno in (28, 122):  # ENOSPC, EDQUOT
                free = shutil.disk_usage(self._directory).free
                raise NoRoom(
                    f"No room for {path} ({there.size} bytes; {free} are free). Make room and move again."
                ) from error
            raise
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        found = target.lstat()
        self._note(path, Noted(there.etag, found.st_size, found.st_mtime_ns))

    def _send(self, path: str, here: Here | None, there: There | None) -> None:
        assert here is not None
        source = self._directory / path
        sent = self._bucket.put(path, source, there.etag if there else None)
        now = source.lstat()
        if (now.st_size, now.st_mtime_ns) != (here.size, here.mtime_ns):
            # What was sent is of a moment between: it is sent again by the next move.
            self._note(path, Noted(sent.etag, -1, 0))
            raise Mismatch("it changed while it was sent")
        self._note(path, Noted(sent.etag, here.size, here.mtime_ns))

    def _remove(self, path: str) -> None:
        if self._outwards:
            self._bucket.remove(path)
        else:
            (self._directory / path).unlink(missing_ok=True)
        self._note(path, None)

    def _make_parents(self, parent: Path) -> None:
        """Through no symbolic link: it could lead out of the directory."""
        if parent in self._plain:
            return
        relative = parent.relative_to(self._directory)
        current = self._directory
        for part in relative.parts:
            current = current / part
            if current.is_symlink():
                raise MoveFailed(f"{current.relative_to(self._directory)} is a symbolic link")
            current.mkdir(exist_ok=True)
        self._plain.add(parent)

    def _note(self, path: str, noted: Noted | None) -> None:
        if not self.summary.dry_run:
            self._state.note(path, noted)

    def _count(self, path: str, decision: Decision, size: int = 0) -> None:
        with self._lock:
            if decision.action is Action.CONFLICT:
                self.summary.conflict(path, decision.why)
            elif decision.action is Action.COPY:
                self.summary.copied += 1
                self.summary.copied_bytes += size
            elif decision.action is Action.SAME:
                self.summary.unchanged += 1
            elif decision.action is Action.REMOVE:
                self.summary.removed += 1
            else:
                self.summary.kept += 1
            if time.monotonic() > self._told + _TELL_SECONDS:
                self._told = time.monotonic()
                done = self.summary
                self._tell(f"{done.copied} copied, {done.copied_bytes} bytes, {done.unchanged} unchanged")


def told(summary: Summary) -> dict[str, object]:
    return asdict(summary)


def _name(names: list[tuple[str, str]], path: str, why: str) -> None:
    if len(names) < _NAMED:
        names.append((path, why))


def _is_key(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
