"""Room on nodes while a plan is made: what is free, what a job takes, what comes back when it goes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from millpond.decide.scheduling.snapshot import MAX_JOBS_PER_NODE, WHOLE, Job, Node, Reservation, Seat, Size


class Room:
    """One node. `order` is its place in the order of all nodes, by which ties are broken."""

    __slots__ = (
        "bucket", "cpu", "elastic", "ends", "free", "holds", "memory",
        "node", "order", "partial", "reservation", "reserved_for", "used", "version", "whole",
    )  # fmt: skip

    def __init__(self, node: Node, order: int) -> None:
        self.node, self.order, self.elastic = node, order, node.elastic
        self.cpu, self.memory, self.used = node.cpu, node.memory, 0
        self.free = [WHOLE] * node.gpus
        self.whole = node.gpus
        # What each job holds here: its seats' GPUs, and the size of one seat.
        self.holds: dict[str, tuple[Size, tuple[tuple[int, ...], ...]]] = {}
        self.reservation: Reservation | None = None
        # The job it is kept for.
        self.reserved_for: Job | None = None
        # When a process of a size fits at the latest, as far as that was asked since the last change.
        self.ends: dict[Size, float | None] = {}
        # Where the index has it.
        self.bucket = -1
        # Counts its changes.
        self.version = 0
        self.partial: frozenset[int] = frozenset()

    def fits(self, size: Size) -> bool:
        """Whether one process fits into what is free."""
        if size.cpu > self.cpu or size.memory > self.memory or self.used >= MAX_JOBS_PER_NODE:
            return False
        if size.gpu >= WHOLE:
            return self.whole * WHOLE >= size.gpu
        return not size.gpu or self.whole > 0 or any(left >= size.gpu for left in self.free)

    def fits_empty(self, size: Size) -> bool:
        node = self.node
        return size.cpu <= node.cpu and size.memory <= node.memory and size.gpu <= node.gpus * WHOLE

    def count(self, size: Size, most: int) -> int:
        """How many processes fit, at most `most`."""
        found = min(most, MAX_JOBS_PER_NODE - self.used)
        if size.cpu:
            found = min(found, self.cpu // size.cpu)
        if size.memory:
            found = min(found, self.memory // size.memory)
        if size.gpu >= WHOLE:
            found = min(found, self.whole * WHOLE // size.gpu)
        elif size.gpu:
            found = min(found, sum(left // size.gpu for left in self.free))
        return max(0, found)

    def pick(self, gpu: int) -> tuple[int, ...]:
        """Whole GPUs with the lowest numbers; a fraction goes where it leaves the least behind."""
        if not gpu:
            return ()
        if gpu >= WHOLE:
            wanted = gpu // WHOLE
            return tuple(index for index, left in enumerate(self.free) if left == WHOLE)[:wanted]
        return (min((left, index) for index, left in enumerate(self.free) if left >= gpu)[1],)

    def has_free(self, size: Size, gpu_ids: tuple[int, ...]) -> bool:
        """Whether exactly these GPUs are free for one process."""
        if size.cpu > self.cpu or size.memory > self.memory or self.used >= MAX_JOBS_PER_NODE:
            return False
        part = min(size.gpu, WHOLE)
        return all(index < len(self.free) and self.free[index] >= part for index in gpu_ids)

    def take(self, job_id: str, size: Size) -> Seat:
        seat = Seat(self.node.id, self.pick(size.gpu))
        self.hold(job_id, size, seat.gpu_ids)
        return seat

    def hold(self, job_id: str, size: Size, gpu_ids: tuple[int, ...]) -> None:
        _, seats = self.holds.get(job_id, (size, ()))
        self.holds[job_id] = (size, (*seats, gpu_ids))
        self._change(size, gpu_ids, -1)

    def release(self, job_id: str) -> None:
        size, seats = self.holds.pop(job_id)
        for gpu_ids in seats:
            self._change(size, gpu_ids, 1)

    def freed_by(self, job_ids: Sequence[str]) -> Room:
        """A copy in which these jobs are gone."""
        copy = Room.__new__(Room)
        copy.node, copy.order, copy.elastic = self.node, self.order, self.elastic
        copy.reservation, copy.reserved_for = self.reservation, self.reserved_for
        copy.cpu, copy.memory, copy.used, copy.whole = self.cpu, self.memory, self.used, self.whole
        copy.ends, copy.version = {}, self.version
        copy.free, copy.holds, copy.bucket, copy.partial = list(self.free), dict(self.holds), -1, frozenset()
        for job_id in job_ids:
            copy.release(job_id)
        return copy

    def without_free_gpus(self) -> Room:
        """A copy in which all GPUs that are free are taken."""
        copy = self.freed_by(())
        copy.whole, copy.free = 0, [0] * len(self.free)
        return copy

    def _change(self, size: Size, gpu_ids: tuple[int, ...], sign: int) -> None:
        if self.ends:
            self.ends = {}
        self.version += 1
        self.used -= sign
        self.cpu += sign * size.cpu
        self.memory += sign * size.memory
        part = WHOLE if size.gpu >= WHOLE else size.gpu
        free = self.free
        for index in gpu_ids:
            if index >= len(free):  # a node may come back with fewer GPUs than it had
                continue
            before = free[index]
            free[index] = after = before + sign * part
            self.whole += (after == WHOLE) - (before == WHOLE)


class ZoneIndex:
    """The open rooms of one zone, by whole free GPUs and by what is free of GPUs that are partly taken."""

    def __init__(self) -> None:
        self.rooms: dict[int, Room] = {}
        self._by_whole: list[list[int]] = []
        self._by_partial: list[list[int]] = [[] for _ in range(WHOLE)]
        # What is left of GPUs that are partly taken, where there are any.
        self._partials: list[int] = []
        self._without_gpus: list[int] = []

    def add(self, room: Room) -> None:
        self.rooms[room.order] = room
        if not room.node.gpus:
            insort(self._without_gpus, room.order)
        while len(self._by_whole) <= room.node.gpus:
            self._by_whole.append([])
        self.update(room)

    def update(self, room: Room) -> None:
        """Call it after every change of the room."""
        if room.bucket != room.whole:
            if room.bucket >= 0:
                _remove(self._by_whole[room.bucket], room.order)
            insort(self._by_whole[room.whole], room.order)
            room.bucket = room.whole
        partial = frozenset(left for left in room.free if 0 < left < WHOLE)
        if partial != room.partial:
            for left in room.partial - partial:
                _remove(self._by_partial[left], room.order)
                if not self._by_partial[left]:
                    _remove(self._partials, left)
            for left in partial - room.partial:
                if not self._by_partial[left]:
                    insort(self._partials, left)
                insort(self._by_partial[left], room.order)
            room.partial = partial

    def best_fit(self, gpu: int) -> Iterator[tuple[int, list[int]]]:
        """Rooms with enough GPU, those that are left with the least first: (tightness, orders of rooms)."""
        if not gpu:
            if self._without_gpus:
                yield -1, self._without_gpus
            yield from enumerate(self._by_whole)
            return
        if gpu < WHOLE:
            for left in self._partials[bisect_left(self._partials, gpu) :]:
                yield left - WHOLE, self._by_partial[left]
        least = max(1, gpu // WHOLE)
        for whole in range(least, len(self._by_whole)):
            if self._by_whole[whole]:
                yield whole, self._by_whole[whole]


def _remove(orders: list[int], order: int) -> None:
    del orders[bisect_left(orders, order)]
