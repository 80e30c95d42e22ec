"""Templates and queues. GPUs are plain numbers: 1, 0.5."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from millpond.model.template import MAX_TEMPLATES
from millpond.wire.base import Request, Response, Time

Label = Annotated[str, Field(max_length=330)]
Values = Annotated[dict[Label, Annotated[str, Field(max_length=32_768)]], Field(max_length=100)]
_YEAR = 366 * 86_400


class TemplatePut(Request):
    """The whole of a template: what is left out, it leaves to the job."""

    compute: str | None = Field(default=None, min_length=1, max_length=63)
    gpus: Annotated[Decimal, Field(ge=0, le=100_000, decimal_places=2)] = Decimal(0)
    cpu: int = Field(default=0, ge=0, le=1_000_000)
    memory_bytes: int = Field(default=0, ge=0, le=1 << 60)
    gpu_type: str | None = Field(default=None, min_length=1, max_length=100)
    min_gpu_memory_bytes: int = Field(default=0, ge=0, le=1 << 50)
    image: str | None = Field(default=None, min_length=1, max_length=300)
    node_selector: Values = {}
    options: Values = {}
    env: Values = {}
    price_per_hour: float = Field(default=0.0, ge=0, le=1_000_000)
    description: str = Field(default="", max_length=1000)


class TemplateCreate(TemplatePut):
    name: str


class Template(Response):
    """A named size on a compute, or on any (`compute` is null)."""

    name: str
    compute: str | None
    gpus: float
    cpu: int
    memory_bytes: int
    gpu_type: str | None
    min_gpu_memory_bytes: int
    image: str | None
    node_selector: dict[str, str]
    options: dict[str, str]
    env: dict[str, str]
    price_per_hour: float
    description: str
    created_at: Time
    created_by: str
    changed_at: Time
    changed_by: str


class QueueEntry(Request):
    """A template, and how long a job waits for it before it tries the next one as well."""

    template: str = Field(max_length=63)
    patience_seconds: int = Field(default=0, ge=0, le=_YEAR)


class QueuePut(Request):
    """The whole of a queue: its templates in the order they are tried."""

    templates: Annotated[list[QueueEntry], Field(min_length=1, max_length=MAX_TEMPLATES)]
    description: str = Field(default="", max_length=1000)


class QueueCreate(QueuePut):
    name: str


class Queue(Response):
    name: str
    templates: list[QueueEntry]
    description: str
    created_at: Time
    created_by: str
    changed_at: Time
    changed_by: str
