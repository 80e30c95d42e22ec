"""Lines of ignore files as Git reads them: on bytes, and each says something about a path itself, not what is below it.

Whoever walks a tree leaves ignored directories out, so nothing below them is ever asked about.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SLASH = ord("/")
_SPECIAL = re.compile(rb"[*?\[\\]")
_CLASSES = {
    b"alnum": rb"[0-9A-Za-z]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[!-~]",
    b"lower": rb"[a-z]",
    b"print": rb"[ -~]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t-\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[0-9A-Fa-f]",
}


class IgnoreRule(NamedTuple):
    """`!` makes it `keeps`; without a slash (but at its end) it is about names, wherever they are."""

    regex: re.Pattern[bytes]
    keeps: bool
    directories_only: bool
    names_only: bool

    def matches(self, path: bytes, *, directory: bool) -> bool:
        if self.directories_only and not directory:
            return False
        return self.regex.fullmatch(path.rpartition(b"/")[2] if self.names_only else path) is not None


def rule_of(line: bytes) -> IgnoreRule | None:
    """None for comments, blank lines, and what can match nothing."""
    text = _without_trailing_spaces(line)
    if text.startswith(b"#"):
        return None
    keeps = text.startswith(b"!")
    text = text[1:] if keeps else text
    directories_only = text.endswith(b"/")
    text = text[:-1] if directories_only else text
    names_only = b"/" not in text
    try:
        regex = _translated(text.removeprefix(b"/"))
    except _Unmatchable:
        return None
    return IgnoreRule(re.compile(regex, re.DOTALL), keeps, directories_only, names_only) if regex else None


class _Unmatchable(Exception):
    """To Git, a backslash at the end and a bracket that is never closed match nothing."""


def _without_trailing_spaces(line: bytes) -> bytes:
    """Those that no backslash keeps."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 and len(line) > len(bare) else bare


def _translated(pattern: bytes) -> bytes:
    plain = _SPECIAL.search(pattern)
    out = b""
    at = 0
    while at < len(pattern):
        character = pattern[at : at + 1]
        if character == b"*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip(b"*"))
            part, at = _stars(pattern, at, end, is_first=plain is not None and plain.start() == at)
        elif character == b"[":
            part, at = _bracket(pattern, at + 1)
        elif character == b"\\":
            part, at = re.escape(_escaped(pattern, at)), at + 2
        else:
            part, at = b"[^/]" if character == b"?" else re.escape(character), at + 1
        out += part
    return out


def _stars(pattern: bytes, start: int, end: int, *, is_first: bool) -> tuple[bytes, int]:
    """`*` stays within a name; `**` as a whole part stands for any directories, and at the end for all they hold.

    Git compares what stands before the first special character by itself, so `**` behind that is a whole part, too.
    """
    is_part = end - start > 1 and (is_first or pattern[start - 1] == _SLASH)
    if is_part and end == len(pattern):
        return b".*", end
    if is_part and pattern[end] == _SLASH:
        return b"(?:.*/)?", end + 1
    return b"[^/]*", end


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """One of these bytes, or with `!` or `^` none of them; never a slash."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    first, before = True, None
    while first or pattern[at : at + 1] != b"]":
        first = False
        if at >= len(pattern):
            raise _Unmatchable
        named = re.compile(rb"\[:([^]]*?):\]").match(pattern, at)
        if named is not None:
            members |= _named(named[1])
            at, before = named.end(), None
            continue
        if pattern[at : at + 1] == b"-" and before is not None and pattern[at + 1 : at + 2] not in (b"", b"]"):
            member = _escaped(pattern, at + 1) if pattern[at + 1 : at + 2] == b"\\" else pattern[at + 1 : at + 2]
            at += 1 + len(member) + (pattern[at + 1 : at + 2] == b"\\")
            members |= set(range(before, member[0] + 1))
            before = None
            continue
        is_escaped = pattern[at : at + 1] == b"\\"
        member = _escaped(pattern, at) if is_escaped else pattern[at : at + 1]
        at += 1 + is_escaped
        members.add(member[0])
        before = member[0]
    chosen = (set(range(256)) - members if negated else members) - {_SLASH}
    if not chosen:
        raise _Unmatchable
    return b"[" + b"".join(b"\\x%02x" % member for member in sorted(chosen)) + b"]", at + 1


def _named(name: bytes) -> set[int]:
    if name not in _CLASSES:
        raise _Unmatchable
    one = re.compile(_CLASSES[name])
    return {byte for byte in range(256) if one.match(bytes([byte]))}


def _escaped(pattern: bytes, at: int) -> bytes:
    if at + 1 >= len(pattern):
        raise _Unmatchable
    return pattern[at + 1 : at + 2]
