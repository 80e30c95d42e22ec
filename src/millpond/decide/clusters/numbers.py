"""What of a scheduler's own numbers everybody may see: no names of functions, nodes or people, and not too many."""

from __future__ import annotations

import re
from collections.abc import Mapping

MOST_SAMPLES = 200
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_VALUE = re.compile(r"[A-Za-z0-9_.]{1,40}")
# Labels whose values are words of Dask and Ray themselves.
_KEPT = frozenset({"state", "State", "type", "Type", "ObjectState", "Location", "quantile", "role"})
# The one label of Ray that names resources in some families, and functions in others.
_NAME, _RESOURCES = "Name", frozenset({"CPU", "GPU", "memory", "object_store_memory"})

Sample = tuple[str, tuple[tuple[str, str], ...]]


def public_samples(told: Mapping[str, float]) -> dict[Sample, float]:
    """By name and labels. Of samples that differ only in what is left out, the sum."""
    found: dict[Sample, float] = {}
    for written, value in told.items():
        name, _, labels = written.partition("{")
        key = (name, tuple(sorted(_kept(labels))))
        if key not in found and len(found) == MOST_SAMPLES:
            continue
        found[key] = found.get(key, 0.0) + value
    return found


def _kept(labels: str) -> list[tuple[str, str]]:
    return [
        (label, value)
        for label, value in _LABEL.findall(labels)
        if (label in _KEPT and _VALUE.fullmatch(value)) or (label == _NAME and value in _RESOURCES)
    ]
