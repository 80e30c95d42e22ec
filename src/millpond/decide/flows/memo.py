"""The key under which a step is remembered: everything that has a say in what it makes, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blake3 import blake3


@dataclass(frozen=True, slots=True)
class Remembered:
    """`work`: the digest of a component, or the tree of code and the command. `inputs`: tree ids, with paths in them.

    Not: template, site, retries, names, time.
    """

    work: tuple[str, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    each: Mapping[str, Any] = field(default_factory=dict)
    # The image, or the tree that an environment is built from.
    environment: str = ""

    @property
    def key(self) -> str:
        parts = [list(self.work), self.params, self.inputs, self.each, self.environment]
        return blake3(json.dumps(parts, sort_keys=True).encode()).hexdigest()
