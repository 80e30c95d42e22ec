"""Whether a command printed what a page shows, which another machine printed on another day."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

ANY = "…"
_UNITS = r"(?:ms|s|m|h|d|seconds?|minutes?|hours?|days?)\b(?: \d+ s\b)?"
_CHANGING: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\b\d{8}T\d{6}Z\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+\d\d:\d\d|Z)?)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8,64}\b"), "ID"),
    # Also words of eight letters: then in both.
    (re.compile(r"\b[a-z0-9]{8}\b"), "ID"),
    (re.compile(rf"\b\d+(?:\.\d+)? ?{_UNITS}(?: ago)?"), "LONG"),
    (re.compile(r"\b\d+(?:\.\d+)? [kMGT]?B(?:/s)?\b"), "SIZE"),
    (re.compile(r"\blocal/[\w.-]+"), "local/NODE"),
)
# What a job does meanwhile: how many of these there are depends on how busy the machine is.
_PASSING = re.compile(r"\S+ (?:\((?:ID|…)\) )?(?:is )?(?:queued|placed|preparing|running|saving)\b.*")
_NAMED_ID = re.compile(r"\(([a-z0-9]{8})\)")


def matches(shown: Iterable[str], printed: Iterable[str]) -> bool:
    """True if the output is what the page shows. `…` stands for anything within a line, alone for any lines.

    Ids, sizes, times and the name of the machine may differ, and so may columns' widths and the passing states of jobs.
    """
    return _matches(_compared(shown), _compared(printed))


def _matches(wanted: Sequence[tuple[str, str]], got: Sequence[tuple[str, str]]) -> bool:
    """Reached: which numbers of printed lines the lines so far may stand for."""
    reached = {0}
    for raw, alike in wanted:
        if raw == ANY:
            reached = set(range(min(reached), len(got) + 1))
            continue
        reached = {n + 1 for n in reached if n < len(got) and (_fits(raw, got[n][0]) or _fits(alike, got[n][1]))}
        if not reached:
            return False
    return len(got) in reached


def _fits(wanted: str, line: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split(ANY)), line) is not None


def _compared(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Each line as it is, and with what changes taken out; without passing states."""
    written = [" ".join(line.split()) for line in lines if line.strip()]
    ids = {name for line in written for name in _NAMED_ID.findall(line)}
    both = [(line, _alike(line, ids)) for line in written]
    return [pair for pair in both if not _PASSING.fullmatch(pair[1])]


def _alike(line: str, ids: Iterable[str]) -> str:
    for name in ids:
        line = re.sub(rf"\b{name}\b", "ID", line)
    for pattern, word in _CHANGING:
        line = pattern.sub(word, line)
    return line
