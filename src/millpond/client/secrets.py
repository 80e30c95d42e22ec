"""Secrets of a project, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.wire.secrets import Secret, SecretPut


def list_secrets(api: Api, project: str) -> Iterator[Secret]:
    return api.items(_path(project), Secret)


def set_secret(api: Api, project: str, name: str, value: str) -> Secret:
    """New, or with another value for jobs that start from now on."""
    return api.send("PUT", _path(project, name), Secret, SecretPut(value=value), idempotent=True)


def remove_secret(api: Api, project: str, name: str) -> None:
    api.request("DELETE", _path(project, name))


def _path(project: str, name: str | None = None) -> str:
    base = f"/projects/{segment(project)}/secrets"
    return f"{base}/{segment(name)}" if name is not None else base
