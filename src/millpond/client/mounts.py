"""Mounts over the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millpond.client.http import Api, segment
from millpond.wire.mounts import MountChange, MountCreate, SharedMount


def list_mounts(api: Api) -> Iterator[SharedMount]:
    return api.items("/mounts", SharedMount)


def create_mount(api: Api, mount: MountCreate) -> SharedMount:
    return api.send("POST", "/mounts", SharedMount, mount)


def allow_mount(api: Api, name: str, projects: Sequence[str], *, everyone: bool = False) -> SharedMount:
    body = MountChange(projects=list(projects), all=everyone)
    return api.send("POST", f"/mounts/{segment(name)}/allow", SharedMount, body, idempotent=True)


def deny_mount(api: Api, name: str, projects: Sequence[str], *, everyone: bool = False) -> SharedMount:
    body = MountChange(projects=list(projects), all=everyone)
    return api.send("POST", f"/mounts/{segment(name)}/deny", SharedMount, body, idempotent=True)


def remove_mount(api: Api, name: str) -> None:
    api.request("DELETE", f"/mounts/{segment(name)}")
