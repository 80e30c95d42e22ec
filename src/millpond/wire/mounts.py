"""Mounts: directories that jobs may mount."""

from __future__ import annotations

from pydantic import Field

from millpond.wire.base import Request, Response, Time


class MountCreate(Request):
    """`projects` may use it, or `all`. `site`: where it exists; null for everywhere."""

    name: str
    path: str = Field(min_length=1, max_length=1000)
    site: str | None = Field(default=None, min_length=1, max_length=63)
    read_only: bool = False
    projects: list[str] = Field(default=[], max_length=1000)
    all: bool = False


class MountChange(Request):
    projects: list[str] = Field(default=[], max_length=1000)
    all: bool = False


class SharedMount(Response):
    """A directory that jobs of `projects`, or of `all`, may mount. Projects you cannot see are not listed."""

    name: str
    path: str
    site: str | None
    read_only: bool
    all: bool
    projects: list[str]
    created_at: Time
    created_by: str
    changed_at: Time
    changed_by: str
