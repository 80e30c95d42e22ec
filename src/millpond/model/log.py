"""A log: a byte stream addressed by offset, of which some stretch in the middle may have been left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogName:
    """Which log: that of one placement, and of a distributed job that of one of its processes."""

    placement_id: str
    rank: int = 0

    @property
    def written(self) -> str:
        return f"{self.placement_id}-{self.rank}" if self.rank else self.placement_id


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Bytes `begin` to `end` (not included) of one log, compressed in the store."""

    begin: int
    end: int
    # Newlines before it, and in it.
    lines_before: int
    lines: int
    stored_bytes: int

    @property
    def lines_reached(self) -> int:
        return self.lines_before + self.lines


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Bytes that a log had and does not hold."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class LogLimit:
    """How much of a log is kept: its beginning and its end."""

    head_bytes: int
    tail_bytes: int

    @classmethod
    def of(cls, most_bytes: int) -> LogLimit:
        return cls(most_bytes // 2, most_bytes - most_bytes // 2)

    def too_much(self, size: int) -> LeftOut | None:
        """What of a log of `size` bytes lies between its head and its tail."""
        if size <= self.head_bytes + self.tail_bytes:
            return None
        return LeftOut(self.head_bytes, size - self.tail_bytes)
