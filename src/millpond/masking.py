"""Hiding secrets in byte streams: a mask is as long as what it hides, so offsets mean the same before and after.

Whether a byte is hidden depends on the `reach` bytes around it alone, never on how the stream was cut into pieces:
whoever begins in the middle and knows what lies `reach` before hides exactly what one who read all of it hides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

MASK = b"*"
# Shorter values would hide words of plain speech and are nobody's secret.
LEAST_SECRET = 6
# Values of these variables are hidden even if nobody called them secret.
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY", re.I)


@dataclass(frozen=True, slots=True)
class Marked:
    """A value known by what stands before it: `prefix`, then at least `least` bytes of `letters`.

    `shown` bytes of the prefix stay. No more than `most` bytes are hidden behind one prefix.
    """

    prefix: bytes
    letters: re.Pattern[bytes]
    least: int
    shown: int
    most: int = 4096


_TOKEN = re.compile(rb"[A-Za-z0-9_-]*")
_VALUE = re.compile(rb"[A-Za-z0-9%/+=_.~-]*")

# API tokens, placement tokens, join tokens and credentials of agents all begin alike.
_TOKENS = (Marked(b"mill_", _TOKEN, least=20, shown=5),)
# What makes a URL a key: S3 (both versions), GCS, Azure, and the server's own.
_SIGNED = tuple(
    Marked(prefix, _VALUE, least=16, shown=len(prefix))
    for prefix in (b"Signature=", b"signature=", b"Credential=", b"Security-Token=", b"?sig=", b"&sig=")
)
MARKED = _TOKENS + _SIGNED


class Mask:
    """Hides literals, wherever they occur, and marked values. `reach` is how far a decision looks in either way."""

    def __init__(self, secrets: Iterable[bytes] = (), marked: Collection[Marked] = MARKED) -> None:
        # Lines singly: a secret of several lines is written with whatever indentation.
        lines = {line.strip() for secret in secrets for line in secret.splitlines()}
        self._literals = sorted(line for line in lines if len(line) >= LEAST_SECRET)
        self._marked = tuple(marked)
        reaches = [len(literal) for literal in self._literals] + [len(m.prefix) + m.most for m in self._marked]
        self.reach = max(reaches, default=1)

    def apply(self, data: bytes) -> bytes:
        """`data` with every byte hidden that lies in a secret; as long as before."""
        spans = list(self._spans(data))
        if not spans:
            return data
        masked = bytearray(data)
        for begin, end in spans:
            masked[begin:end] = MASK * (end - begin)
        return bytes(masked)

    def settled(self, data: bytes) -> int:
        """How many leading bytes of `data` are decided, whatever comes behind it."""
        undecided = [_beginning_at(data, literal) for literal in self._literals]
        undecided += [_marked_at(data, marked) for marked in self._marked]
        return min(undecided, default=len(data))

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        for literal in self._literals:
            for begin in _occurrences(data, literal):
                yield begin, begin + len(literal)
        for marked in self._marked:
            run_end = 0
            for begin in _occurrences(data, marked.prefix):
                value = begin + len(marked.prefix)
                if value > run_end:
                    found = marked.letters.match(data, value)
                    run_end = found.end() if found else value
                if run_end - value >= marked.least:
                    yield begin + marked.shown, min(run_end, value + marked.most)


def secrets_of(env: Mapping[str, str], named: Collection[str] = ()) -> list[bytes]:
    """Values to hide of a job's environment: those that were named, and those that sound like secrets.

    Each also as URLs write it.
    """
    values = [value for name, value in env.items() if name in named or _SECRET_NAME.search(name)]
    return [form.encode() for value in values for form in dict.fromkeys((value, quote(value, safe="")))]


def _occurrences(data: bytes, wanted: bytes) -> Iterator[int]:
    """Where `wanted` begins, overlapping ones included."""
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)


def _beginning_at(data: bytes, wanted: bytes) -> int:
    """Where the end of `data` may be the beginning of `wanted`; its length if nowhere."""
    for at in range(max(0, len(data) - len(wanted) + 1), len(data)):
        if wanted.startswith(data[at:]):
            return at
    return len(data)


def _marked_at(data: bytes, marked: Marked) -> int:
    """Where a marked value may begin that is not long enough yet to be one."""
    window = max(0, len(data) - len(marked.prefix) - marked.least)
    for at in _occurrences(data[window:], marked.prefix):
        value = window + at + len(marked.prefix)
        found = marked.letters.match(data, value)
        if (found is None or found.end() == len(data)) and len(data) - value < marked.least:
            return window + at
    return _beginning_at(data, marked.prefix)
