"""MkDocs hook: `folder/` in the navigation stands for the pages below that folder that nothing else names.

`source:PATH` names a file of the project outside docs/ (source_pages.py). Sections without a page are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SOURCE = "source:"


def on_config(config: Any) -> Any:
    docs = Path(config.docs_dir)
    named = set(_named(config.nav))
    config.nav = _expanded(config.nav, docs, named)
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Rank design notes behind user pages in search results."""
    if page.file.src_uri.startswith(("design/", "source/", "contributing/")):
        page.meta.setdefault("search", {"boost": 0.2})


def _named(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [] if entry.endswith("/") else [entry]
    return [name for part in (entry.values() if isinstance(entry, dict) else entry) for name in _named(part)]


def _expanded(entries: list[Any], docs: Path, named: set[str]) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            found += _pages(entry, docs, named)
            continue
        (title, inside), *_ = entry.items()
        if isinstance(inside, str) and not inside.endswith("/"):
            found.append({title: _page(inside)})
            continue
        pages = _expanded([inside] if isinstance(inside, str) else inside, docs, named)
        if pages:
            found.append({title: pages})
    return found


def _pages(entry: str, docs: Path, named: set[str]) -> list[str]:
    if not entry.endswith("/"):
        return [_page(entry)]
    # The page of the folder itself comes first.
    files = sorted((docs / entry).rglob("*.md"), key=lambda file: (file.name != "index.md", file.as_posix()))
    names = [file.relative_to(docs).as_posix() for file in files]
    return [name for name in names if name not in named]


def _page(entry: str) -> str:
    return f"source/{entry.removeprefix(SOURCE)}" if entry.startswith(SOURCE) else entry
