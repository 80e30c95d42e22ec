"""MkDocs hook: pages are written in the Markdown that code hosts show; Python-Markdown wants some more empty lines.

A list or a table may follow a paragraph at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"^(?:[-*+]|\d+\.) +\S")
_ROW = re.compile(r"^\|.*\|\s*$")


def on_page_markdown(markdown: str, **_: Any) -> str:
    return "\n".join(_spaced(markdown.split("\n")))


def _spaced(lines: list[str]) -> Iterator[str]:
    fence, before, in_list = "", "", False
    for line in lines:
        if mark := _FENCE.match(line):
            fence = "" if fence and line.strip().startswith(fence) else fence or mark[1]
        elif not fence:
            item = bool(_ITEM.match(line))
            starts = (item and not in_list) or (bool(_ROW.match(line)) and not _ROW.match(before))
            if starts and before.strip():
                yield ""
            in_list = item or (in_list and (line.startswith(" ") or not line.strip() or bool(before.strip())))
        yield line
        before = line
