"""Secrets of a project. Values come in and never go out."""

from __future__ import annotations

from pydantic import Field

from millpond.wire.base import Request, Response, Time


class SecretPut(Request):
    # Not shown where a request is refused.
    value: str = Field(min_length=1, max_length=32_768, repr=False)


class Secret(Response):
    id: str
    project: str
    name: str
    created_at: Time
    created_by: str
    changed_at: Time
    changed_by: str
