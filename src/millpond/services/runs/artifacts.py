"""Artifacts: small files beside a run, kept in the lake under keys of their own."""

from __future__ import annotations

import hashlib

from millpond.db import runs
from millpond.db.runs import Artifact
from millpond.errors import BadPath, TooLarge
from millpond.lake.keys import ProjectKeys
from millpond.model.path import check_path
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_bytes
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access
from millpond.services.runs import runs as run_service

MAX_PATH = 1000


def put(deps: Deps, actor: Actor, project: Project, run_id: str, path: str, content: bytes) -> Artifact:
    """Durable when it returns. The newest under a path takes the place of the one before."""
    _check(path)
    if len(content) > deps.settings.max_object_bytes:
        raise TooLarge(
            f"An artifact has at most {format_bytes(deps.settings.max_object_bytes)}.",
            hint="Write larger results to $MILL_OUTPUT, or commit them to a dataset.",
        )
    with deps.db.read() as tx:
        run_service.find(tx, actor, project, run_id)
        before = runs.find_artifact(tx, run_id, path)
    digest = hashlib.sha256(path.encode() + b"\0" + content).hexdigest()
    artifact = Artifact(run_id, path, len(content), ProjectKeys(project.id).artifact(run_id, digest), deps.clock.now())
    deps.store.put(artifact.key, content)
    with deps.db.write() as tx:
        runs.put_artifact(tx, artifact)
    if before is not None and before.key != artifact.key:
        deps.store.delete(before.key)
    data = {"project": project.name, "id": run_id, "what": "artifact", "path": path}
    deps.events.publish(f"run:{run_id}", project_id=project.id, data=data)
    return artifact


def read(deps: Deps, actor: Actor, project: Project, run_id: str, path: str) -> bytes:
    with deps.db.read() as tx:
        run_service.find(tx, actor, project, run_id)
        artifact = runs.find_artifact(tx, run_id, path)
        if artifact is None:
            paths = [other.path for other in runs.artifacts(tx, run_id, limit=1000)]
            raise access.not_found("artifact", path, paths)
    return deps.store.get(artifact.key)


def list_artifacts(
    deps: Deps, actor: Actor, project: Project, run_id: str, *, limit: int, cursor: str | None
) -> Listing[Artifact]:
    with deps.db.read() as tx:
        run_service.find(tx, actor, project, run_id)
        found = runs.artifacts(tx, run_id, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda artifact: artifact.path)


def _check(path: str) -> None:
    """Relative, without empty parts, '.' or '..', printable: it is shown to people and becomes a file elsewhere."""
    check_path(path.encode("utf-8", "surrogateescape"))
    if len(path) > MAX_PATH or not path.isprintable() or "\\" in path:
        raise BadPath(f"{path[:200]!r} cannot name an artifact.", hint="Use a short relative path of plain characters.")
