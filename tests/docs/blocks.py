"""The command blocks of a page, in order (docs/contributing/documentation.md tells how they are marked)."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# `session`: commands after prompts, with what they print. `script`: lines of a shell. `file`: a file with that content.
Kind = Literal["session", "script", "file", "setup"]
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w-]*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_MARK = re.compile(r"<!-- *(?P<name>run|not run|exits|setup|stays|soon|ports)\b *:?(?P<value>.*?)-->", re.DOTALL)
_SHELLS = ("sh", "bash", "shell", "console")
_PROMPT = "$ "
_MILL = re.compile(r"(?:.*&& |\()?mill [a-z]")


@dataclass
class Block:
    """Lines without their indentation. `not_run` is the reason why nothing here can run it. Of one that `stays` the
    last command goes on; those of one that comes `soon` are repeated until they print what the page shows."""

    page: Path
    line: int
    kind: Kind
    lines: list[str]
    title: str = ""
    not_run: str = ""
    exits: int = 0
    stays: bool = False
    soon: bool = False

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass
class Page:
    """`runs` is how the page asks to be run: "" (its commands are parsed only), "quick", "long", or "alone" (long, and
    without a server). `ports` are numbers in it that stand for free ports."""

    path: Path
    runs: str = ""
    ports: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Call:
    """One command of a session with what it is to print; None where the page does not show it."""

    where: str
    command: str
    output: list[str] | None


def pages() -> list[Page]:
    """All pages that people read, with the README; not the reference that is made from the commands themselves."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [read_page(path) for path in found if path != DOCS / "cli.md"]


def read_page(path: Path) -> Page:
    page = Page(path)
    marks: dict[str, str] = {}
    for number, item in _items(path.read_text("utf-8").split("\n")):
        if isinstance(item, Block):
            item.page, item.line = path, number
            item.not_run, item.exits = marks.pop("not run", ""), int(marks.pop("exits", "0"))
            item.stays, item.soon = marks.pop("stays", None) is not None, marks.pop("soon", None) is not None
            page.blocks.append(item)
        elif item[0] == "run":
            page.runs = item[1] or "quick"
        elif item[0] == "ports":
            page.ports = [int(word) for word in item[1].split()]
        elif item[0] == "setup":
            page.blocks.append(Block(path, number, "setup", item[1].split("\n")))
        else:
            marks[item[0]] = item[1]
    return page


def calls(block: Block) -> Iterator[Call]:
    """The commands of a session, or a script as one."""
    if block.kind != "session":
        yield Call(block.where, "\n".join(block.lines), None)
        return
    command: list[str] = []
    output: list[str] = []
    line, until = 0, ""
    for number, text in enumerate([*block.lines, _PROMPT]):
        inside = bool(until) or (bool(command) and command[-1].endswith("\\") and not output)
        if inside:
            command.append(text.removeprefix("> "))
            until = "" if text.strip() == until else until
            continue
        if not text.startswith(_PROMPT):
            output.append(text)
            continue
        if command:
            yield Call(f"{block.page.relative_to(ROOT)}:{block.line + line}", "\n".join(command), output or None)
        command, output, line = [text.removeprefix(_PROMPT)], [], number
        here = re.search(r"<<-?\s*['\"]?(\w+)", text)
        until = here[1] if here else ""


def _items(lines: list[str]) -> Iterator[tuple[int, Block | tuple[str, str]]]:
    """Blocks and marks, each with the number of its first line."""
    at, before = 0, ""
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence:
            end = _end_of_fence(lines, at, fence["fence"])
            inside = [text.removeprefix(fence["indent"]) for text in lines[at + 1 : end]]
            if block := _fenced(fence, inside):
                yield at + 2, block
            at = end + 1
        elif line.startswith("    ") and line.strip() and not before.strip():
            end = _end_of_indented(lines, at)
            yield from _indented(at + 1, textwrap.dedent("\n".join(lines[at:end])).split("\n"))
            at = end
        elif line.startswith("<!--"):
            end = next((n for n in range(at, len(lines)) if "-->" in lines[n]), at)
            if mark := _MARK.match("\n".join(lines[at : end + 1])):
                yield at + 1, (mark["name"], mark["value"].strip())
            at = end + 1
        else:
            at += 1
        before = lines[at - 1]


def _end_of_fence(lines: list[str], start: int, fence: str) -> int:
    ends = (n for n in range(start + 1, len(lines)) if lines[n].strip() == fence)
    return next(ends, len(lines))


def _end_of_indented(lines: list[str], start: int) -> int:
    """Behind the last line of an indented block; empty lines belong to it where it goes on after them."""
    end = start
    for number in range(start, len(lines)):
        if lines[number].startswith("    "):
            end = number + 1
        elif lines[number].strip():
            break
    return end


def _indented(line: int, inside: list[str]) -> Iterator[tuple[int, Block]]:
    """The blocks in one: commands may follow a file after an empty line."""
    if block := _plain(inside) if inside[0].startswith(_PROMPT) else None:
        yield line, block
        return
    starts = [n for n, text in enumerate(inside) if n and text.startswith(_PROMPT) and not inside[n - 1].strip()]
    for start, end in itertools.pairwise([0, *starts, len(inside)]):
        if block := _plain(inside[start:end]):
            yield line + start, block


def _plain(inside: list[str]) -> Block | None:
    """A block without a language is one of commands if it looks like that."""
    first = next((text for text in inside if text.strip()), "")
    if first.startswith(_PROMPT):
        return Block(DOCS, 0, "session", inside)
    return Block(DOCS, 0, "script", inside) if any(_MILL.match(text) for text in inside) else None


def _fenced(fence: re.Match[str], inside: list[str]) -> Block | None:
    title = _TITLE.search(fence["rest"])
    if title:
        return Block(DOCS, 0, "file", inside, title[1])
    if fence["language"] in _SHELLS:
        is_session = any(text.startswith(_PROMPT) for text in inside)
        return Block(DOCS, 0, "session" if is_session else "script", inside)
    return None if fence["language"] else _plain(inside)
