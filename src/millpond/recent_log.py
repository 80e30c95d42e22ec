"""The newest lines of the server's own log, in memory, without secrets: for a support bundle where no file has them."""

from __future__ import annotations

import logging
from collections import deque

from millpond.log_lines import TEXT_FORMAT, MaskingFormatter

_LINES = 2_000
_LONGEST = 2_000


class RecentLog(logging.Handler):
    """A handler that keeps the last lines. Used from any thread."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(MaskingFormatter(TEXT_FORMAT))
        self._kept: deque[str] = deque(maxlen=_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(self.format(record)[:_LONGEST])

    def lines(self) -> list[str]:
        return list(self._kept)
