"""The documentation as sections that can be searched: from the built site, or from Markdown files."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_TAG = re.compile(r"<[^>]+>")
_WORD = re.compile(r"[a-z0-9_][a-z0-9_.-]*[a-z0-9_]|[a-z0-9_]")
_HEADING = re.compile(r"^(#{1,4}) +(.*)$")
_EXCERPT = 300


@dataclass(frozen=True)
class Section:
    """A heading and the text below it. `location` is where it is, as the address of a page or a file."""

    location: str
    title: str
    text: str


def from_site(index: bytes) -> list[Section]:
    """The sections of `search/search_index.json`, as MkDocs writes it. ValueError for something else."""
    try:
        found = json.loads(index)["docs"]
        return [Section(one["location"], _plain(one["title"]), _plain(one["text"])) for one in found]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a search index") from error


def from_markdown(folder: Path) -> list[Section]:
    sections: list[Section] = []
    for file in sorted(folder.rglob("*.md")):
        name = file.relative_to(folder).as_posix()
        title, lines, fenced = name, list[str](), False
        for line in file.read_text("utf-8").splitlines():
            fenced ^= line.lstrip().startswith("```")
            heading = None if fenced else _HEADING.match(line)
            if heading:
                sections.append(Section(_at(name, title), title, "\n".join(lines).strip()))
                title, lines = heading[2].strip(), []
            else:
                lines.append(line)
        sections.append(Section(_at(name, title), title, "\n".join(lines).strip()))
    return [section for section in sections if section.text]


def search(sections: Iterable[Section], query: str, limit: int) -> list[tuple[Section, str]]:
    """The sections with most of the words, each with the text around one; those with a word in the title first."""
    wanted = list(dict.fromkeys(_WORD.findall(query.lower())))
    found: list[tuple[tuple[int, float], int, Section]] = []
    for number, section in enumerate(sections):
        title, text = section.title.lower(), section.text.lower()
        there = [word for word in wanted if word in title or word in text]
        if there:
            weight = sum((3.0 if word in title else 0.0) + min(text.count(word), 5) * 0.3 for word in there)
            found.append(((len(there), weight), -number, section))
    best = sorted(found, key=lambda one: one[:2], reverse=True)[:limit]
    return [(section, _excerpt(section.text, wanted)) for _, _, section in best]


def page(sections: Sequence[Section], location: str) -> str | None:
    """The text of one section, or of all sections of a page. None if there is none of that name.

    Pages of a site have addresses (`quickstart/`) and files have names (`quickstart.md`): one finds the other.
    """
    found = [one for one in sections if one.location == location]
    if not found:
        name = _page_name(location)
        found = [one for one in sections if _page_name(one.location) == name]
    return "\n\n".join(f"## {one.title}\n{one.text}" for one in found) or None


def _page_name(location: str) -> str:
    page = location.partition("#")[0].lstrip("/").removesuffix("index.html").removesuffix(".html").removesuffix(".md")
    return page.rstrip("/").removesuffix("/index") or "index"


def _at(name: str, title: str) -> str:
    slug = re.sub(r"[^\w\s-]", "", title.lower()).strip()
    return name if title == name else f"{name}#{'-'.join(slug.split())}"


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _excerpt(text: str, words: Sequence[str]) -> str:
    places = [at for at in (text.lower().find(word) for word in words) if at >= 0]
    begin = max(0, min(places, default=0) - _EXCERPT // 3)
    return text[begin : begin + _EXCERPT].strip()
