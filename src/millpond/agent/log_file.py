"""A placement's log on this machine, as it is sent: secrets masked, and dropped parts skipped.

Almost stateless (only the first line after a gap is remembered): after a restart, the next agent continues from any
offset with the same bytes.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.spec import read_spec
from millpond.masking import Mask, secrets_of
from millpond.model.log import LeftOut

log = logging.getLogger(__name__)

LOG = "log"
# Written by the keeper before it lets go of what lies between two offsets.
GAP = "log.gap"


@dataclass(frozen=True, slots=True)
class Taken:
    """Bytes that begin at `offset`. `left_out_from`: those between there and `offset` are lost."""

    offset: int
    data: bytes
    left_out_from: int | None = None


class LogFile:
    """Offsets are those of the masked stream, which are those of the file: a mask is as long as what it hides."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mask: Mask | None = None
        # Where a line begins behind a gap: no secret lies across it, and what is before it cannot be read.
        self._line_from = 0

    @property
    def size(self) -> int:
        try:
            return (self._directory / LOG).stat().st_size
        except FileNotFoundError:
            return 0

    def take(self, offset: int, limit: int, *, ended: bool) -> Taken | None:
        """About `limit` bytes from `offset` on that may be sent; None if there are none.

        The end of what is there may be the beginning of a secret: it stays until more has come, or nothing will
        (`ended`).
        """
        if self.size <= offset:
            return None
        mask = self._masking()
        limit = max(limit, 2 * mask.reach)
        begin = max(0, offset - mask.reach, min(self._line_from, offset))
        window = self._read(begin, offset + limit)
        # Looked at after the bytes were read: the keeper tells first, and lets go then.
        gap = self._gap()
        if gap is not None and gap.begin < begin + len(window) and begin < gap.end:
            if offset >= gap.begin:
                return self._behind(gap, offset, limit, ended=ended)
            window = window[: gap.begin - begin]
            settled = mask.settled(window)
            if begin + settled <= offset:
                return self._behind(gap, offset, limit, ended=ended)
        elif ended and begin + len(window) >= self.size:
            settled = len(window)
        else:
            settled = mask.settled(window)
        data = mask.apply(window)[offset - begin : settled]
        return Taken(offset, data) if data else None

    def _behind(self, gap: LeftOut, offset: int, limit: int, *, ended: bool) -> Taken | None:
        """From the first line that begins behind the gap: of one cut in two, the rest could be half a secret."""
        begin = max(gap.end, offset)
        reach = self._masking().reach
        text = self._read(begin, begin + reach)
        newline = text.find(b"\n")
        if newline < 0 and len(text) < reach and not ended:
            return None
        self._line_from = begin + (newline + 1 if newline >= 0 else len(text))
        taken = self.take(self._line_from, limit, ended=ended) or Taken(self._line_from, b"")
        return Taken(taken.offset, taken.data, left_out_from=offset)

    def _masking(self) -> Mask:
        if self._mask is None:
            spec = read_spec(self._directory)
            self._mask = Mask(secrets_of(spec.env, spec.secret_env) if spec else ())
        return self._mask

    def _gap(self) -> LeftOut | None:
        try:
            begin, end = (self._directory / GAP).read_text().split()
        except FileNotFoundError:
            return None
        return LeftOut(int(begin), int(end)) if int(end) > int(begin) else None

    def _read(self, begin: int, end: int) -> bytes:
        with open(self._directory / LOG, "rb") as file:
            return os.pread(file.fileno(), end - begin, begin)
