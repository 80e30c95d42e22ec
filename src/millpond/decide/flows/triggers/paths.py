"""Patterns of paths: `*` and `?` within one folder, `**` over any number of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Linear in the length of a path, whatever somebody writes as a pattern.
import re2

_PARTS = re.compile(r"(\*\*/|/\*\*$|\*\*|\*|\?)")
_WRITTEN = {"**/": r"(?:[^/]+/)*", "/**": r"/.+", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def first_match(patterns: Sequence[str], paths: Iterable[bytes]) -> str | None:
    """The first path that one of the patterns fits; None if there is none."""
    regexes = [_regex(pattern) for pattern in patterns]
    for path in paths:
        text = path.decode("utf-8", "replace")
        if any(regex.fullmatch(text) for regex in regexes):
            return text
    return None


def _regex(pattern: str) -> re2._Regexp[str]:
    parts = _PARTS.split(pattern.removeprefix("./").removeprefix("/"))
    return re2.compile("(?s)" + "".join(_WRITTEN.get(part) or re2.escape(part) for part in parts))
