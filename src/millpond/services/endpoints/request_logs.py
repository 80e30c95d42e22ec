"""Request logs: files of routers, kept when they come and committed to the dataset of each endpoint from time to time.

Nothing is lost or doubled: a file is known by the digest of its content, and has a path of its own in the commit. An
agent that sends it again, or a server that was killed between commit and note, changes nothing (docs/design/023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from itertools import groupby
from logging import getLogger

import zstandard
from blake3 import blake3
from sqlalchemy import Connection

from millpond.db import agents, datasets, endpoints, models, projects, request_logs, sites, uploads
from millpond.decide.endpoints.changes import sites_of
from millpond.errors import MillError, NameTaken, NotFound
from millpond.lake.keys import ProjectKeys
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.streaming import entry_of_stream
from millpond.lake.transfer import Meter
from millpond.model.dataset import Commit, Dataset, Upload
from millpond.model.endpoint import Endpoint
from millpond.model.ids import new_id
from millpond.model.names import DEFAULT_BRANCH, model_dataset
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_count
from millpond.model.request_log import StagedLog
from millpond.model.tree import Entry
from millpond.model.volume import Site
from millpond.services.commits.changes.branch import Changes, change_branch
from millpond.services.commits.packs.trust import owner_of
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.endpoints import acting
from millpond.services.endpoints.request_rows import file_of, lines_by_endpoint, rows_of
from millpond.services.people import access

logger = getLogger(__name__)

_AT_ONCE = 1000
_KNOWN_FOR = timedelta(days=7)


def receive(deps: Deps, actor: Actor, endpoint_id: str, content: bytes) -> None:
    """Keep a file of an endpoint's log. NotFound unless the endpoint is, or was, at the site of the asking agent."""
    with deps.db.read() as tx:
        endpoint = endpoints.get(tx, endpoint_id)
        agent = agents.get(tx, actor.agent_id or "")
        site = sites.get(tx, agent.site_id) if agent else None
        if endpoint is None or site is None or not _was_at(tx, endpoint, site):
            raise access.not_found("endpoint", endpoint_id)
    # Rows of an endpoint that keeps none are dropped here: it may have been changed since they were written.
    lines = lines_by_endpoint(content).get(endpoint.name)
    if lines and endpoint.spec.log.to is not None:
        _stage(deps, endpoint, b"\n".join(lines), len(lines))


def _was_at(tx: Connection, endpoint: Endpoint, site: Site) -> bool:
    """True if a revision of the endpoint named the site: files may wait there for longer than it does."""
    specs = (endpoint.spec, *(one.spec for one in endpoints.revisions(tx, endpoint.id)))
    return any(sites_of(spec, [site]) for spec in specs)


def commit_due(deps: Deps, now: datetime) -> int:
    """Commit what has waited for as long as its endpoint says; how many endpoints that were."""
    with deps.db.write() as tx:
        request_logs.forget_committed(tx, now - _KNOWN_FOR)
    with deps.db.read() as tx:
        waiting = sorted(request_logs.waiting(tx, limit=_AT_ONCE), key=lambda one: one.endpoint_id)
    done = 0
    for endpoint_id, staged in groupby(waiting, key=lambda one: one.endpoint_id):
        try:
            done += _commit(deps, endpoint_id, sorted(staged, key=lambda one: one.received_at), now)
        except MillError as error:  # one that cannot be committed now holds no other up
            logger.warning("request_log_not_committed endpoint=%s why=%s", endpoint_id, error.message)
    return done


def _stage(deps: Deps, endpoint: Endpoint, content: bytes, rows: int) -> None:
    digest = blake3(content).hexdigest()
    with deps.db.read() as tx:
        if request_logs.known(tx, endpoint.id, digest):
            return
    deps.store.put(_key(endpoint, digest), zstandard.compress(content, 3))
    with deps.db.write() as tx:
        request_logs.stage(tx, StagedLog(endpoint.id, digest, rows, len(content), deps.clock.now()))


def _commit(deps: Deps, endpoint_id: str, staged: Sequence[StagedLog], now: datetime) -> bool:
    with deps.db.read() as tx:
        endpoint = endpoints.get(tx, endpoint_id)
        project = projects.get(tx, endpoint.project_id) if endpoint else None
    if endpoint is None or project is None:
        return False
    log, is_ending = endpoint.spec.log, endpoint.deleted_at is not None
    if log.to is not None and not is_ending and now < staged[0].received_at + timedelta(seconds=log.every_seconds):
        return False
    commit = _commit_files(deps, project, endpoint, staged) if log.to is not None else None
    with deps.db.write() as tx:
        digests = [one.digest for one in staged]
        request_logs.note_committed(tx, endpoint.id, digests, commit.id if commit else None, now)
    for one in staged:
        deps.store.delete(_key(endpoint, one.digest))
    return commit is not None


def _commit_files(deps: Deps, project: Project, endpoint: Endpoint, staged: Sequence[StagedLog]) -> Commit | None:
    files: dict[str, bytes] = {}
    served: set[tuple[str, int]] = set()
    for one in staged:
        try:
            content = zstandard.decompress(deps.store.get(_key(endpoint, one.digest)), max_output_size=one.bytes)
        except NotFound:
            continue  # another server has committed it meanwhile
        if rows := rows_of(content):
            path, made = file_of(rows, one.digest)
            files[path] = made
            served |= {(row["model"], row["version"]) for row in rows if row["model"] and row["version"]}
    if not files:
        return None
    actor = acting.actor_of(deps, endpoint, project)
    dataset, branch = _target(deps, actor, project, endpoint)
    entries, upload = _upload(deps, project, actor, files)
    count = format_count(sum(one.rows for one in staged), "request")
    changes = Changes(
        puts=entries,
        removals=(),
        message=f"Log {count} of endpoint {endpoint.name}",
        upload_id=upload.id,
        lineage={"endpoint": endpoint.name, "inputs": _versions(deps, project, served)},
    )
    return change_branch(deps, actor, dataset, branch=branch, expected=None, plan=lambda base: changes)


def _versions(deps: Deps, project: Project, served: Set[tuple[str, int]]) -> list[str]:
    """The commits of the versions that answered: what a request leads to, and from there data and code."""
    found = []
    with deps.db.read() as tx:
        for name, number in sorted(served):
            model = models.find(tx, project.id, name)
            version = models.version(tx, model.dataset.id, number) if model else None
            if version is not None:
                found.append(f"{model_dataset(name)}@{version.commit_id}")
    return found


def _target(deps: Deps, actor: Actor, project: Project, endpoint: Endpoint) -> tuple[Dataset, str]:
    """The dataset, made when it is first needed, and its branch."""
    name, _, branch = (endpoint.spec.log.to or "").partition("@")
    with deps.db.read() as tx:
        found = datasets.find(tx, project.id, name)
    if found is None:
        try:
            text = f"Requests of endpoint {endpoint.name}"
            found = dataset_service.create(deps, actor, project, name=name, description=text)
        except NameTaken:
            with deps.db.read() as tx:
                found = dataset_service.find(tx, project, name)
    return found, branch or DEFAULT_BRANCH


def _upload(deps: Deps, project: Project, actor: Actor, files: Mapping[str, bytes]) -> tuple[list[Entry], Upload]:
    now = deps.clock.now()
    upload = Upload(id=new_id(), project_id=project.id, owner=owner_of(actor), created_at=now, used_at=now)
    with deps.db.write() as tx:
        uploads.insert(tx, upload)
    with Packer(ServerUploader(deps, upload), Meter(None), PACK_TARGET) as packer:
        entries = [
            entry_of_stream(path.encode(), len(data), iter([data]), packer.add) for path, data in sorted(files.items())
        ]
        packer.finish()
    return entries, upload


def _key(endpoint: Endpoint, digest: str) -> str:
    return ProjectKeys(endpoint.project_id).request_log(endpoint.id, digest)
