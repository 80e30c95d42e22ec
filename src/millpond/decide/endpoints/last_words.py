"""What a process that failed wrote last: the line of its log that people look for first."""

from __future__ import annotations

import re

_MOST = 500
_STAMPED_ERROR = re.compile(r"^\S+ \S+ ERROR (?P<said>.+)$")


def last_words(log: str) -> str | None:
    """The newest error in the end of a log, or else its last line; None where nothing is written there."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [match["said"] for line in lines if (match := _STAMPED_ERROR.match(line))]
    found = errors[-1] if errors else (lines[-1] if lines else None)
    return found if found is None or len(found) <= _MOST else f"{found[:_MOST]}…"
