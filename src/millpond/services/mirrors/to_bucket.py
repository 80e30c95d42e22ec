"""Makes a prefix of a bucket the same as a commit: only differences, and nothing that others put there is touched.

The tree, what the mirror has put so far and what the bucket lists are gone through together. An object is noted once it
was put: after a crash between the two it is found, held against the file, and taken as put.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from millpond.blobs.external import WritablePlace, strong
from millpond.db import mirrors
from millpond.decide.mirroring import MirrorAction, MirrorDecision, decide_object, why_no_key
from millpond.errors import (
    AddressRefused,
    BadRequest,
    Conflict,
    Corrupt,
    Forbidden,
    MillError,
    NotFound,
    StoreUnavailable,
)
from millpond.lake.reader import TreeReader
from millpond.model.connection import ProjectConnection
from millpond.model.mirror import MirroredObject, seal_of
from millpond.model.quantity import format_count
from millpond.model.tree import Kind
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps
from millpond.services.mirrors.contents import CommitContents, Located, Streamed, Whole
from millpond.services.mirrors.origin import Origin
from millpond.services.mirrors.tally import Tally
from millpond.services.sources import connections
from millpond.services.sources.place_listing import OBJECTS_MOST

_THREADS = 8
_BATCH_ENTRIES = 256
_BATCH_BYTES = 16 << 20
_TELL_SECONDS = 2.0
# What is wrong with the whole bucket, and not with one object.
_ENDS_IT = (Forbidden, StoreUnavailable, AddressRefused, NotFound)


@dataclass(frozen=True, slots=True)
class BucketOrder:
    """`mirror_id`: whose notes count; None for a mirror that is not there yet. A dry run changes nothing."""

    origin: Origin
    connection: ProjectConnection
    uri: str
    mirror_id: str | None
    dry_run: bool = False
    # Called now and then with what is done so far; raises when the run is no longer wanted.
    still_wanted: Callable[[str], None] = lambda progress: None


@dataclass(frozen=True, slots=True)
class _Task:
    """One object that is to be put, checked or removed."""

    path: bytes
    decision: MirrorDecision
    # Of the file at the source; None for what is to be removed.
    located: Located | None
    there: str | None


# What is to be noted of a path, None for nothing.
_Outcome = tuple[bytes, MirroredObject | None] | None
_Running = Future[_Outcome]


def carry_out(deps: Deps, order: BucketOrder) -> Tally:
    """Raises what is wrong with the bucket as a whole; what was put by then is noted, and the next run goes on."""
    _check_not_emptied(deps, order)
    with connections.opened_to_write(deps, order.connection) as place:
        return _Run(deps, order, place).run()


def _check_not_emptied(deps: Deps, order: BucketOrder) -> None:
    if order.origin.commit.files or order.mirror_id is None:
        return
    with deps.db.read() as tx:
        count = mirrors.count_objects(tx, order.mirror_id)
    if count:
        raise BadRequest(
            f"{order.origin.written} is empty now; {format_count(count, 'object')} at the target stay.",
            hint="If this is intended, remove the mirror, and the objects by other means.",
        )


class _Run:
    def __init__(self, deps: Deps, order: BucketOrder, place: WritablePlace) -> None:
        self._deps, self._order, self._place = deps, order, place
        self._contents = CommitContents(deps, order.origin.dataset.project_id)
        self._prefix_bytes = len(order.uri.partition("://")[2].partition("/")[2].encode())
        self._told = time.monotonic()
        self.tally = Tally()

    def run(self) -> Tally:
        self._tell("listing the target", at_once=True)
        there = self._listed()
        with ThreadPoolExecutor(_THREADS, "mirror") as pool:
            try:
                self._carry_out(pool, self._tasks(there))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return self.tally

    def _carry_out(self, pool: ThreadPoolExecutor, tasks: Iterator[_Task]) -> None:
        """While a batch is on its way, the next one is found and its contents are read."""
        running: list[_Running] = []
        try:
            for batch in _batches(tasks):
                before, running = running, self._begin(pool, batch)
                self._finish(before)
        except BaseException:
            _cancel(running)
            raise
        finally:
            self._finish(running)

    def _listed(self) -> dict[bytes, str]:
        """Seals by path. In no order that could be relied on: stores list directories as they like."""
        found: dict[bytes, str] = {}
        cut = len(self._order.uri)
        for one in self._place.list(self._order.uri):
            path = one.uri[cut:].encode("utf-8", "surrogateescape")
            found[path] = seal_of(one.size, strong(one.etag) or "")
            if len(found) % 10_000 == 0:
                self._tell(f"listing the target: {format_count(len(found), 'object')}")
            if len(found) > OBJECTS_MOST:
                raise BadRequest(f"{self._order.uri} holds more than {OBJECTS_MOST:,} objects.")
        return found

    def _tasks(self, there: dict[bytes, str]) -> Iterator[_Task]:
        """Whatever is not the same. Both sides are sorted by path."""
        origin = self._order.origin
        files = self._files(reader_of(self._deps, origin.dataset, origin.commit))
        for path, here, noted in _joined(files, self._notes()):
            seal = there.get(path)
            decision = decide_object(here.entry if here else None, seal, noted)
            if decision.action is MirrorAction.SAME:
                self.tally.keep()
                if self.tally.unchanged % 10_000 == 0:
                    self._tell(self._progress())
            elif decision.action is MirrorAction.CONFLICT:
                self.tally.conflict(path, decision.why)
            else:
                yield _Task(path, decision, here, seal)

    def _files(self, reader: TreeReader) -> Iterator[Located]:
        for ref in reader.leaves():
            for entry in reader.leaf(ref.id).entries():
                if entry.kind is Kind.DIRECTORY:
                    continue
                why = "is a symbolic link" if entry.kind is Kind.SYMLINK else why_no_key(entry, self._prefix_bytes)
                if why is not None:
                    self.tally.skip(entry.path, why)
                    continue
                yield Located(entry, ref.id)

    def _notes(self) -> Iterator[MirroredObject]:
        """A part at a time: no transaction is open while the bucket is talked to."""
        behind: bytes | None = None
        while self._order.mirror_id is not None:
            with self._deps.db.read() as tx:
                found = mirrors.objects_behind(tx, self._order.mirror_id, behind)
            yield from found
            if not found:
                return
            behind = found[-1].path

    def _begin(self, pool: ThreadPoolExecutor, batch: Sequence[_Task]) -> list[_Running]:
        wanted = [task.located for task in batch if task.located is not None]
        contents = iter(self._contents.of(wanted))
        given = [(task, next(contents) if task.located is not None else None) for task in batch]
        return [pool.submit(partial(self._one, *one)) for one in given]

    def _finish(self, running: Sequence[_Running]) -> None:
        """Wait for them, and note what was done. Raises what is wrong with the whole bucket."""
        if not running:
            return
        outcomes: list[tuple[bytes, MirroredObject | None]] = []
        problem: MillError | None = None
        for future in running:
            try:
                outcome = future.result()
            except CancelledError:
                continue
            except _ENDS_IT as error:
                problem = problem or error
                _cancel(running)
                continue
            if outcome is not None:
                outcomes.append(outcome)
        self._note(outcomes)
        if problem is not None:
            raise problem
        self._tell(self._progress())

    def _note(self, outcomes: Sequence[tuple[bytes, MirroredObject | None]]) -> None:
        mirror_id = self._order.mirror_id
        if mirror_id is None or self._order.dry_run or not outcomes:
            return
        with self._deps.db.write() as tx:
            mirrors.put_objects(tx, mirror_id, [noted for _, noted in outcomes if noted is not None])
            mirrors.forget_objects(tx, mirror_id, [path for path, noted in outcomes if noted is None])

    def _one(self, task: _Task, content: Whole | Streamed | Corrupt | None) -> _Outcome:
        """Raises what is wrong with the whole bucket."""
        try:
            if task.located is None:
                return self._gone(task)
            assert content is not None, "every file has content"
            if isinstance(content, Corrupt):
                raise content
            return self._put(task, task.located, content)
        except _ENDS_IT:
            raise
        except Conflict:
            self.tally.conflict(task.path, "somebody else has put an object there in the meantime")
        except MillError as error:
            self.tally.fail(task.path, error.message)
        return None

    def _gone(self, task: _Task) -> tuple[bytes, None]:
        if task.decision.action is MirrorAction.REMOVE:
            if not self._order.dry_run:
                self._place.remove(self._uri(task.path))
            self.tally.remove()
        return task.path, None

    def _put(self, task: _Task, located: Located, content: Whole | Streamed) -> tuple[bytes, MirroredObject] | None:
        entry, replaces = located.entry, None
        if task.there is not None:
            size, _, replaces = task.there.partition(":")
        if task.decision.action is MirrorAction.CHECK:
            if int(size) != entry.size or len(replaces or "") != 32 or content.md5() != replaces:
                self.tally.conflict(task.path, task.decision.why)
                return None
            self.tally.keep()
            return task.path, MirroredObject(task.path, replaces, entry.size, entry.digest)
        etag = "" if self._order.dry_run else self._written(task.path, content, entry.size, replaces)
        self.tally.copy(entry.size)
        return task.path, MirroredObject(task.path, etag, entry.size, entry.digest)

    def _written(self, path: bytes, content: Whole | Streamed, size: int, replaces: str | None) -> str:
        """The ETag. Conflict if another object is there by now; one that is the same was put by a request before, whose
        answer was lost."""
        uri, md5 = self._uri(path), content.md5()
        try:
            return self._place.write(uri, content, size, md5, replaces)
        except Conflict:
            found = self._place.look(uri)
            if (found.size, strong(found.etag)) == (size, md5):
                return md5
            raise

    def _uri(self, path: bytes) -> str:
        return self._order.uri + path.decode()

    def _progress(self) -> str:
        done = self.tally
        whole = format_count(self._order.origin.commit.files, "file")
        return f"{done.copied:,} copied, {done.unchanged:,} unchanged of {whole}"

    def _tell(self, progress: str, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now > self._told + _TELL_SECONDS:
            self._told = now
            self._order.still_wanted(progress)


def _cancel(running: Sequence[_Running]) -> None:
    """Those that have not begun."""
    for future in running:
        future.cancel()


def _batches(tasks: Iterator[_Task]) -> Iterator[list[_Task]]:
    batch, size = list[_Task](), 0
    for task in tasks:
        batch.append(task)
        size += task.located.entry.size if task.located else 0
        if len(batch) >= _BATCH_ENTRIES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _joined(
    files: Iterator[Located], notes: Iterator[MirroredObject]
) -> Iterator[tuple[bytes, Located | None, MirroredObject | None]]:
    """What there is of each path, in the order of paths, which both are in."""
    file, note = next(files, None), next(notes, None)
    while file is not None and note is not None:
        path, noted = file.entry.path, note.path
        if path == noted:
            yield path, file, note
            file, note = next(files, None), next(notes, None)
        elif path < noted:
            yield path, file, None
            file = next(files, None)
        else:
            yield noted, None, note
            note = next(notes, None)
    while file is not None:
        yield file.entry.path, file, None
        file = next(files, None)
    while note is not None:
        yield note.path, None, note
        note = next(notes, None)
