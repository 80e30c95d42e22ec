"""What a process that failed wrote last: the line of its log that people look for first."""

from __future__ import annotations

import re

_MOST = 500
_STAMPED = re.compile(r"^\d{4}-\d\d-\d\d \S+ (?P<level>[A-Z]+) (?P<said>.+)$")


def last_words(log: str) -> str | None:
    """The newest error in the end of a log, or else its last line, unless that tells of something that went well."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    stamped = [_STAMPED.match(line) for line in lines]
    errors = [match["said"] for match in stamped if match and match["level"] in ("ERROR", "CRITICAL")]
    found = errors[-1] if errors else (lines[-1] if lines and not stamped[-1] else None)
    return found if found is None or len(found) <= _MOST else f"{found[:_MOST]}…"
