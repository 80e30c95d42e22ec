"""Whole trees, gone through by one thread and worked on by several processes, or threads where there are few files."""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from millpond.errors import VolumeProblem
from millpond.lake.nursery import Nursery
from millpond.lake.worker import Worker
from millpond.volumes.workspaces import tree_process
from millpond.volumes.workspaces.copying import copy_attributes
from millpond.volumes.workspaces.tree_process import (
    Done,
    Task,
    carry_out,
    opened_below,
    owner_of,
    receive,
    send,
)
from millpond.volumes.workspaces.walk import Entered, Files, walk

# A file takes some ten microseconds, most of it in the kernel: below so many, processes save less than they cost.
PROCESSES_FROM = 3_000
PROCESSES = min(4, os.cpu_count() or 1)
_THREADS = 2
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# Told what was done so far; may raise to end it.
TreeProgress = Callable[[Done], None]
# Told of files in the order of their paths: the directory, names in it, and the numbers of each.
Noted = Callable[[bytes, Sequence[bytes], bytes], None]


def work_on_tree(
    source: Path,
    target: Path | None,
    task: Task,
    nursery: Nursery,
    *,
    progress: TreeProgress = lambda done: None,
    noted: Noted | None = None,
    keep_links: bool = False,
) -> Done:
    """Carry out `task` for all files of `source`; with a `target`, which is an empty directory, make them there.

    Directories of the target get owner, permissions and times of those in the source. With `keep_links` a file that has
    several names in the source has them there, too. OSError names the path, from the tree's root, that could not be
    dealt with.
    """
    with ExitStack() as stack:
        here = stack.enter_context(_opened(source))
        there = stack.enter_context(_opened(target)) if target is not None else None
        directories = _Directories(task, here, there)
        with _links(there) if there is not None and keep_links else nullcontext(b"") as links:
            total = _work_on_files(here, there, task._replace(links=links), nursery, directories, progress, noted)
        if target is not None:
            _check_same(source, here)
        directories.finish()
        return total


def _work_on_files(
    here: int,
    there: int | None,
    task: Task,
    nursery: Nursery,
    directories: _Directories,
    progress: TreeProgress,
    noted: Noted | None,
) -> Done:
    with _crew(task, here, there, nursery) as crew:
        total, begun = Done(), deque[tuple[Files, Future[Done]]]()

        def settle(most: int) -> Done:
            done = total
            while len(begun) > most:
                files, future = begun.popleft()
                result = future.result()
                if noted is not None and result.numbers:
                    noted(files.directory, files.names, result.numbers)
                done = _added(done, result)
                progress(done)
            return done

        for item in walk(here):
            if isinstance(item, Entered):
                directories.enter(item)
            else:
                begun.append((item, crew.submit(item)))
                total = settle(2 * PROCESSES + 1)
        return settle(0)


@contextmanager
def _links(target: int) -> Iterator[bytes]:
    """A directory of the open `target` for the files with several names, gone with the block."""
    name = b".links-" + os.urandom(8).hex().encode()
    os.mkdir(name, 0o700, dir_fd=target)
    yield name
    with opened_below(target, name) as directory:
        for one in os.listdir(directory):
            os.unlink(one, dir_fd=directory)
    os.rmdir(name, dir_fd=target)


def _check_same(source: Path, opened: int) -> None:
    """VolumeProblem if something else is there by now: then what was copied may have been on its way out."""
    try:
        is_same = os.path.samestat(source.stat(), os.fstat(opened))
    except FileNotFoundError:
        is_same = False
    if not is_same:
        raise VolumeProblem(f"{source} was replaced or removed while it was copied.", hint="Try again.")


class _Directories:
    """Makes the directories of the target, and finishes them when all that is in them is there."""

    def __init__(self, task: Task, here: int, there: int | None) -> None:
        self._task, self._here, self._there = task, here, there
        self._entered: list[tuple[bytes, int, int, int, int, int]] = []

    def enter(self, item: Entered) -> None:
        if self._there is None:
            if self._task.operation in ("give", "remove"):
                self._keep(item)
            return
        above, _, name = item.path.rpartition(b"/")
        if name:
            with opened_below(self._there, above) as parent:
                os.mkdir(name, 0o700, dir_fd=parent)
        self._keep(item)

    def finish(self) -> None:
        """Deepest first: whatever is written below changes the times of a directory."""
        while self._entered:
            path, mode, owner, group, accessed, modified = self._entered.pop()
            if self._task.operation == "remove":
                self._remove(path)
            elif self._there is None:
                with suppress(FileNotFoundError), opened_below(self._here, path) as descriptor:
                    os.fchown(descriptor, owner, group)
            else:
                with opened_below(self._there, path) as descriptor:
                    self._attributes(path, descriptor)
                    os.fchown(descriptor, owner, group)
                    os.fchmod(descriptor, mode)
                    os.utime(descriptor, ns=(accessed, modified))

    def _keep(self, item: Entered) -> None:
        found = item.status
        owner, group = owner_of(self._task, found)
        mode = 0o755 if self._task.plain_modes else found.st_mode & 0o7777
        self._entered.append((item.path, mode, owner, group, found.st_atime_ns, found.st_mtime_ns))

    def _attributes(self, path: bytes, made: int) -> None:
        if self._task.whole:
            with suppress(FileNotFoundError), opened_below(self._here, path) as source:
                copy_attributes(source, made)

    def _remove(self, path: bytes) -> None:
        above, _, name = path.rpartition(b"/")
        if name:
            with suppress(FileNotFoundError), opened_below(self._here, above) as parent:
                os.rmdir(name, dir_fd=parent)


class _Crew:
    """Takes files of a directory at a time. The first few thousand are not worth a process."""

    def __init__(self, task: Task, here: int, there: int | None, nursery: Nursery, pool: ThreadPoolExecutor) -> None:
        self._task, self._here, self._there = task, here, here if there is None else there
        self._nursery, self._pool = nursery, pool
        self._seen = 0
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._workers: list[Worker] = []

    def submit(self, files: Files) -> Future[Done]:
        self._seen += len(files.names)
        if self._seen < PROCESSES_FROM:
            return self._pool.submit(carry_out, self._task, self._here, self._there, files.directory, files.names)
        if not self._workers:
            self._start()
        return self._pool.submit(self._ask, files)

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            with suppress(BrokenPipeError):
                worker.orders.close()
            while worker.answers.read(1 << 16):
                pass  # until it has ended
            worker.answers.close()

    def _start(self) -> None:
        for _ in range(PROCESSES):
            worker = self._nursery.start(tree_process.__name__, [self._here, self._there])
            self._workers.append(worker)
            with suppress(BrokenPipeError):  # it has ended already, which is told to the first one who asks
                send(worker.orders, tuple(self._task))
            self._idle.put(worker)

    def _ask(self, files: Files) -> Done:
        worker = self._idle.get()
        try:
            send(worker.orders, tuple(files))
            answer = receive(worker.answers)
        except (OSError, EOFError) as error:
            raise VolumeProblem(
                "A process that worked on a tree ended before its work was done.",
                hint="The machine may be short of memory. Try again.",
            ) from error
        finally:
            self._idle.put(worker)
        if len(answer) != len(Done._fields):
            raise OSError(*answer)
        return Done(*answer)


@contextmanager
def _crew(task: Task, here: int, there: int | None, nursery: Nursery) -> Iterator[_Crew]:
    with ThreadPoolExecutor(max(_THREADS, PROCESSES), "tree") as pool:
        crew = _Crew(task, here, there, nursery, pool)
        try:
            yield crew
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.close()


def _added(one: Done, other: Done) -> Done:
    return Done(
        one.files + other.files,
        one.size + other.size,
        one.copied + other.copied,
        one.torn + other.torn,
        one.unique + other.unique,
        one.shared + other.shared,
    )


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
