"""Connections of a project, over the API: places outside the lake it may import from."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.errors import BadRequest, NotFound
from millpond.model.connection import Place
from millpond.wire.imports import Connection, ConnectionChange, ConnectionCreate, ConnectionTest, Credentials

# The server looks at the place before it answers.
_SECONDS = 120.0


def list_connections(api: Api, project: str) -> Iterator[Connection]:
    return api.items(_path(project), Connection)


def get_connection(api: Api, project: str, name: str) -> Connection:
    return api.get(_path(project, name), Connection)


def create_connection(api: Api, project: str, asked: ConnectionCreate) -> Connection:
    return api.send("POST", _path(project), Connection, asked, timeout=_SECONDS)


def change_credentials(api: Api, project: str, name: str, credentials: Credentials | None) -> Connection:
    return api.send("PATCH", _path(project, name), Connection, ConnectionChange(credentials=credentials))


def allow_writing(api: Api, project: str, name: str, *, writable: bool) -> Connection:
    """Let moves and mirrors write through it, or no longer."""
    return api.send("PATCH", _path(project, name), Connection, ConnectionChange(writable=writable))


def test_connection(api: Api, project: str, name: str) -> ConnectionTest:
    return api.send("POST", f"{_path(project, name)}/test", ConnectionTest, timeout=_SECONDS)


def delete_connection(api: Api, project: str, name: str, *, force: bool = False) -> None:
    api.request("DELETE", _path(project, name), params={"force": force})


def connection_for(api: Api, project: str, uri: str) -> str:
    """The name of the one connection of the project that leads to `uri`; the longest way there counts."""
    found = [(len(one.url), one.name) for one in list_connections(api, project) if place_of(one).covers(uri)]
    if not found:
        scheme = uri.partition("://")[0]
        raise NotFound(
            f"No connection of project {project!r} covers {uri.partition('?')[0]}.",
            hint=f"A project administrator can add one: mill connection add NAME {scheme}://…",
        )
    longest = max(length for length, _ in found)
    names = sorted(name for length, name in found if length == longest)
    if len(names) > 1:
        raise BadRequest(f"Several connections cover it: {', '.join(names)}.", hint="Choose one with --connection.")
    return names[0]


def place_of(connection: Connection) -> Place:
    return Place(connection.kind, connection.url, connection.endpoint)


def _path(project: str, name: str | None = None) -> str:
    base = f"/projects/{segment(project)}/connections"
    return f"{base}/{segment(name)}" if name is not None else base
