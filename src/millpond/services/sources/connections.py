"""Connections: places a project may import from, opened with their own credentials and never with the lake's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import cast

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond import plugins
from millpond.blobs.external import ExternalPlace, Surroundings, WritablePlace
from millpond.blobs.external_gcs import only_the_key
from millpond.db import blobs, connections, mirrors, sources
from millpond.decide.allowed_addresses import Reach
from millpond.errors import AddressRefused, BadRequest, Forbidden, InUse, MillError, NameTaken, NotFound, SetupError
from millpond.model.connection import Place, PlaceKind, ProjectConnection
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.sources import lake_bucket

_SHOWN = 5
_NEEDED: Mapping[str, tuple[frozenset[str], ...]] = {
    PlaceKind.S3: (frozenset({"key_id", "secret"}), frozenset({"key_id", "secret", "session_token"})),
    PlaceKind.GCS: (frozenset({"service_account"}),),
    PlaceKind.HTTPS: (frozenset({"user", "password"}), frozenset({"bearer"})),
}
_WORDS: Mapping[str, str] = {
    PlaceKind.S3: "an access key id and its secret",
    PlaceKind.GCS: "the key file of a service account",
    PlaceKind.HTTPS: "a user and a password, or a bearer token",
}


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """`objects` are the first few that were found; `problem` says why nothing could be read."""

    works: bool
    objects: Sequence[str] = ()
    problem: str | None = None
    hint: str | None = None


def create(
    deps: Deps,
    actor: Actor,
    project: Project,
    *,
    name: str,
    url: str,
    endpoint: str | None = None,
    region: str | None = None,
    credentials: Mapping[str, str] | None = None,
    writable: bool = False,
) -> ProjectConnection:
    """BadRequest for a place that may not be connected to: the lake's own bucket, an address that is not public."""
    kinds = plugins.names(plugins.SOURCES)
    place = Place.parse(url, endpoint=endpoint, region=region, kinds=kinds)
    connection_id, now = new_id(), deps.clock.now()
    value = ProjectConnection(
        id=connection_id,
        project_id=project.id,
        name=check_name(name, "connection"),
        place=place,
        sealed=_sealed(deps, connection_id, place, credentials),
        created_at=now,
        created_by=actor.name,
        writable=_checked_writable(place, writable),
    )
    _check_may_be_used(deps, value)
    try:
        with deps.db.write() as tx:
            connections.insert(tx, value)
            _audit(tx, deps, actor, project, "connection.create", value, after=_told(value))
    except IntegrityError as error:
        raise NameTaken(f"Connection {value.name!r} already exists.", hint="Choose another name.") from error
    _publish(deps, project, value)
    return value


def list_all(deps: Deps, project: Project, *, limit: int, cursor: str | None) -> Listing[ProjectConnection]:
    with deps.db.read() as tx:
        found = connections.page(tx, project.id, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda item: item.name)


def find(tx: Connection, project: Project, name: str) -> ProjectConnection:
    found = connections.find(tx, project.id, name)
    if found is None:
        raise access.not_found("connection", name, connections.names(tx, project.id))
    return found


def get(deps: Deps, project: Project, name: str) -> ProjectConnection:
    with deps.db.read() as tx:
        return find(tx, project, name)


def change(
    deps: Deps, actor: Actor, project: Project, name: str, credentials: Mapping[str, str] | None
) -> ProjectConnection:
    """With other credentials from now on; the place stays, for commits rely on it."""
    found = get(deps, project, name)
    sealed = _sealed(deps, found.id, found.place, credentials)
    with deps.db.write() as tx:
        connections.set_credentials(tx, found.id, sealed)
        kept = {"credentials": "kept" if found.sealed else "none"}
        given = {"credentials": "replaced" if sealed else "none"}
        _audit(tx, deps, actor, project, "connection.change", found, before=kept, after=given)
    _publish(deps, project, found)
    return get(deps, project, name)


def allow_writing(deps: Deps, actor: Actor, project: Project, name: str, *, writable: bool) -> ProjectConnection:
    """Let members put objects there by moves and mirrors, or no longer."""
    found = get(deps, project, name)
    _checked_writable(found.place, writable)
    with deps.db.write() as tx:
        connections.set_writable(tx, found.id, writable=writable)
        before, after = {"writable": found.writable}, {"writable": writable}
        _audit(tx, deps, actor, project, "connection.change", found, before=before, after=after)
    _publish(deps, project, found)
    return get(deps, project, name)


def delete(deps: Deps, actor: Actor, project: Project, name: str, *, force: bool) -> None:
    """InUse while sources or mirrors use it, or commits need it (unless `force`: they cannot be read then)."""
    with deps.db.write() as tx:
        found = find(tx, project, name)
        if used := sources.using(tx, found.id):
            raise InUse(
                f"Sources use connection {name!r}: {', '.join(used)}.",
                hint=f"Remove them first: mill source rm {used[0]}",
                depends=[f"source {one}" for one in used],
            )
        if written := mirrors.using_connection(tx, found.id):
            raise InUse(
                f"Mirrors write through connection {name!r}: {', '.join(written)}.",
                hint=f"Remove them first: mill mirror rm {written[0]}",
                depends=[f"mirror {one}" for one in written],
            )
        if not force and name in blobs.external_names(tx, project.id):
            raise InUse(
                f"Commits hold files that are read through connection {name!r}.",
                hint="With --force it is removed, and these files cannot be read until a connection of this "
                "name exists again.",
                depends=["commits with imported files"],
            )
        connections.delete(tx, found.id)
        _audit(tx, deps, actor, project, "connection.delete", found, before=_told(found))
    _publish(deps, project, found)


def test(deps: Deps, connection: ProjectConnection) -> ConnectionTest:
    """Whether the place answers and may be read, with the first few of its objects."""
    try:
        lake_bucket.refuse(deps, connection.place, lambda: opened(deps, connection, whole_bucket=True))
        with opened(deps, connection) as place:
            if connection.place.kind == PlaceKind.HTTPS:
                return _test_site(place, connection.place.root)
            found = [item.uri for item in islice(place.list(connection.place.root), _SHOWN)]
    except MillError as error:
        return ConnectionTest(works=False, problem=error.message, hint=error.hint)
    return ConnectionTest(works=True, objects=found)


@contextmanager
def opened(deps: Deps, connection: ProjectConnection, *, whole_bucket: bool = False) -> Iterator[ExternalPlace]:
    """The place, with the connection's credentials and nothing else. `whole_bucket` looks beyond its prefix."""
    place = connection.place
    if whole_bucket and place.kind != PlaceKind.HTTPS:
        place = Place(place.kind, f"{place.kind}://{place.bucket}/", place.endpoint, place.region)
    made = _open(deps, connection, place)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def opened_to_write(deps: Deps, connection: ProjectConnection) -> Iterator[WritablePlace]:
    """As `opened`, after making sure that it is not the lake's bucket. Forbidden if it is for reading only."""
    require_writable(connection)
    _check_may_be_used(deps, connection)
    with opened(deps, connection) as place:
        yield cast("WritablePlace", place)


def require_writable(connection: ProjectConnection) -> None:
    """Forbidden for one that is for reading only."""
    if not connection.writable:
        raise Forbidden(
            f"Connection {connection.name!r} is for reading only.",
            hint=f"A project administrator can allow writing: mill connection set {connection.name} --writable",
        )


@contextmanager
def opened_to_list(deps: Deps, connection: ProjectConnection) -> Iterator[ExternalPlace]:
    """As `opened`, after making sure that it is not the lake's bucket under another name."""
    _check_may_be_used(deps, connection)
    with opened(deps, connection) as place:
        yield place


def _open(deps: Deps, connection: ProjectConnection, place: Place) -> ExternalPlace:
    if place.kind not in plugins.names(plugins.SOURCES):
        raise SetupError(
            f"Connection {connection.name!r} needs a plug-in for {place.kind}://, which the server does not have.",
            hint="Install its package where the server runs, and restart the server.",
        )
    around = Surroundings(Reach.parse(deps.settings.import_hosts), deps.clock.now, os.environ)
    made: ExternalPlace = plugins.load(plugins.SOURCES, place.kind)(place, _unsealed(deps, connection), around)
    return made


def _test_site(place: ExternalPlace, root: str) -> ConnectionTest:
    try:
        place.look(root)
    except AddressRefused:
        raise
    except (NotFound, BadRequest):
        pass  # few sites have something at their root; what counts is that this one may be reached and answers
    return ConnectionTest(works=True)


def _check_may_be_used(deps: Deps, connection: ProjectConnection) -> None:
    lake_bucket.refuse(deps, connection.place, lambda: opened(deps, connection, whole_bucket=True))


def _checked_writable(place: Place, writable: bool) -> bool:
    if writable and place.kind != PlaceKind.S3:
        raise BadRequest(
            f"A place at {place.kind}:// cannot be written.", hint="Moves and mirrors write to s3:// only."
        )
    return writable


def _sealed(deps: Deps, connection_id: str, place: Place, given: Mapping[str, str] | None) -> bytes | None:
    secrets = dict(given or {})
    if not secrets and place.kind != PlaceKind.GCS:
        return None
    # A plug-in checks what it is given when it opens the place.
    if place.kind in _NEEDED and frozenset(secrets) not in _NEEDED[place.kind]:
        raise BadRequest(f"Credentials of {place.kind}:// are {_WORDS[place.kind]}.")
    if place.kind == PlaceKind.GCS:
        secrets["service_account"] = json.dumps(only_the_key(secrets["service_account"]))
    if any(ord(character) < 32 for name, text in secrets.items() if name != "service_account" for character in text):
        raise BadRequest("Credentials cannot contain line breaks or control characters.")
    return deps.seal.seal(json.dumps(secrets), _purpose(connection_id))


def _unsealed(deps: Deps, connection: ProjectConnection) -> Mapping[str, str]:
    if connection.sealed is None:
        return {}
    secrets: Mapping[str, str] = json.loads(deps.seal.open(connection.sealed, _purpose(connection.id)))
    return secrets


def _purpose(connection_id: str) -> str:
    return f"connection {connection_id}"


def _told(connection: ProjectConnection) -> dict[str, object]:
    """Of a connection, for the audit log; of its credentials only that there are some."""
    place = connection.place
    return {
        "url": place.root, "endpoint": place.endpoint, "region": place.region, "writable": connection.writable,
        "has_credentials": connection.sealed is not None,
    }  # fmt: skip


def _audit(
    tx: Connection, deps: Deps, actor: Actor, project: Project, action: str, connection: ProjectConnection, *,
    before: Mapping[str, object] | None = None, after: Mapping[str, object] | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx,
        now=deps.clock.now(),
        actor=actor,
        action=action,
        subject=connection.name,
        project_id=project.id,
        details={"url": connection.place.root},
        before=before,
        after=after,
    )


def _publish(deps: Deps, project: Project, connection: ProjectConnection) -> None:
    data = {"project": project.name, "id": connection.id, "what": "connection"}
    deps.events.publish("sources", project_id=project.id, data=data)
