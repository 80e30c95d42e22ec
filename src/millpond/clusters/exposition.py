"""Reads numbers in Prometheus's text format: what a scheduler tells of itself, cut down to what is worth passing on."""

from __future__ import annotations

import math
import re
import urllib.request

MOST_SAMPLES = 300
_MOST_BYTES = 4 << 20
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^\n]*\})? (\S+)(?: \d+)?")
# One number for each bucket of each histogram would be most of all.
_LEFT_OUT = ("_bucket", "_created")
# Long, and the same in every sample.
_SAME = re.compile(r'(?:SessionName|Version|otel_scope_[a-z_]+)="[^"]*",?|,(?=})')


def scrape(url: str, *prefixes: str, timeout: float = 5.0) -> dict[str, float]:
    """Samples whose names begin with one of `prefixes`, by name and labels. OSError if nothing answers."""
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        text = answer.read(_MOST_BYTES).decode(errors="replace")
    return samples(text, prefixes)


def samples(text: str, prefixes: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = _SAMPLE.fullmatch(line.strip())
        if match is None or not match[1].startswith(prefixes) or match[1].endswith(_LEFT_OUT):
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if math.isfinite(value):
            found[match[1] + _labels(match[2])] = value
        if len(found) == MOST_SAMPLES:
            break
    return found


def _labels(written: str | None) -> str:
    kept = _SAME.sub("", written or "").replace(",}", "}")
    return "" if kept == "{}" else kept
