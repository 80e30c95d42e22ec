"""Patterns of paths: `*` and `?` within one folder, `**` over any number of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache


def first_match(patterns: Sequence[str], paths: Iterable[bytes]) -> str | None:
    """The first path that one of the patterns fits; None if there is none."""
    regexes = [_regex(pattern) for pattern in patterns]
    for path in paths:
        text = path.decode("utf-8", "surrogateescape")
        if any(regex.fullmatch(text) for regex in regexes):
            return text
    return None


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", pattern.removeprefix("./").removeprefix("/"))
    written = {"**/": r"(?:[^/]+/)*", "/**": r"/.+", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return re.compile("".join(written.get(part, re.escape(part)) for part in parts), re.DOTALL)
