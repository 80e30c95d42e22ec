"""One series from what is stored of it: parts in the order of their steps, read only when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millpond.db.metrics import Chunk, are_in_order
from millpond.decide.series import thin
from millpond.model.series import Points


@dataclass(frozen=True, slots=True)
class Part:
    """Points that follow each other by step; `read` gives them."""

    points: int
    read: Callable[[], Points]


def parts_of(chunks: Sequence[Chunk], loose: Sequence[Points], start: int | None, end: int | None) -> list[Part]:
    """What lies between two steps (both included): one part if anything must be sorted, else a part for each chunk."""
    rest = Points.joined(loose)
    follows = not chunks or not len(rest) or chunks[-1].greatest_step <= rest.steps[0]
    if not (are_in_order(chunks) and follows and rest.is_sorted):
        whole = Points.joined([*(chunk.decode() for chunk in chunks), rest]).between(start, end).sorted()
        return [_known(whole)]
    return [*(_part(chunk, start, end) for chunk in chunks), _known(rest.between(start, end))]


def thinned(parts: Sequence[Part], limit: int) -> tuple[Points, int]:
    """At most `limit` points, exact if there are no more, and how many there are. Holds one long part at a time."""
    total = sum(part.points for part in parts)
    if total <= limit:
        return Points.joined(part.read() for part in parts), total
    # Twice as many as its share: the last step chooses among those.
    shares = ((part, 2 * limit * part.points // total) for part in parts if part.points)
    return thin(Points.joined(thin(part.read(), share) for part, share in shares), limit), total


def _part(chunk: Chunk, start: int | None, end: int | None) -> Part:
    is_inside = (start is None or start <= chunk.least_step) and (end is None or chunk.greatest_step <= end)
    if is_inside:
        return Part(chunk.points, chunk.decode)
    return _known(chunk.decode().between(start, end))


def _known(points: Points) -> Part:
    return Part(len(points), lambda: points)
