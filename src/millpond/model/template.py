"""Templates and queues: named sizes that jobs run on, and ordered lists of them that a job tries in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

MAX_TEMPLATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSpec:
    """What a template fills in where a job says nothing. The fields have the names they have in JobSpec."""

    compute: str | None = None
    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    gpu_type: str | None = None
    min_gpu_memory_bytes: int = 0
    image: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    # Of this size for an hour, in the currency of the links' prices.
    price_per_hour: float = 0.0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A named size, on one compute or on any."""

    id: str
    name: str
    spec: TemplateSpec
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A template, and how long a job waits for it before the next one is tried as well."""

    template: str
    patience_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """Templates in the order in which they are tried."""

    id: str
    name: str
    templates: tuple[QueueEntry, ...]
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TemplateUse:
    """The template a job is planned or runs with, and the fields of its spec that came from it."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    price_per_hour: float = 0.0
