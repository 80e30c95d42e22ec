"""What a version is made of: the tree of its files, taken from where they lie already, and what is known of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from millpond.db import jobs, metrics, run_values, runs
from millpond.decide.models import MOST_VALUES, kept_values
from millpond.errors import BadRequest, Invalid, NotFound
from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit, Dataset, DatasetKind
from millpond.model.model import (
    MOST_SOURCE,
    FromCommit,
    FromElsewhere,
    FromLoggedModel,
    FromRun,
    FromUpload,
    FromVersion,
    ModelFacts,
    ModelSource,
)
from millpond.model.names import DatasetRef
from millpond.model.path import check_path, from_text, to_text
from millpond.model.people import Actor, ActorKind, Project
from millpond.model.run import Run
from millpond.model.tree import Entry, Kind
from millpond.services.commits import refs
from millpond.services.commits.changes.branch import write_tree
from millpond.services.commits.commits import lineage_of_job
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.datasets import datasets as dataset_service
from millpond.services.datasets import reading, urls
from millpond.services.deps import Deps
from millpond.services.models import versions
from millpond.services.people import access
from millpond.services.runs import artifacts, logged_models
from millpond.services.runs import runs as run_service

_COMMIT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Material:
    """The root of a version's tree, whose pages are in the lake; and how it came about."""

    tree: str
    facts: ModelFacts
    lineage: Mapping[str, Any] = field(default_factory=dict)
    # The tree that entries were taken from.
    origins: Sequence[str] = ()
    upload_id: str | None = None


def material(deps: Deps, actor: Actor, project: Project, source: ModelSource) -> Material:
    """NotFound for a source that is not there or that the actor may not read; no file is copied."""
    match source:
        case FromRun(run_id=run_id, path=path):
            return _of_run(deps, actor, project, run_id, path)
        case FromLoggedModel(model_id=model_id):
            return _of_logged_model(deps, actor, project, model_id)
        case FromCommit(written=written):
            return _of_commit(deps, actor, project, written)
        case FromVersion(model=model, version=version):
            return _of_version(deps, actor, project, model, version)
        case FromUpload(upload=upload, tree=tree):
            return _of_upload(deps, actor, project, upload, tree)
        case FromElsewhere(uri=uri):
            return _elsewhere(deps, project, uri)


def knows_run(deps: Deps, project: Project, run_id: str) -> bool:
    """True if the project has such a run, whether the caller may read it or not."""
    with deps.db.read() as tx:
        run = runs.get(tx, run_id)
    return run is not None and run.project_id == project.id


def facts_of_run(tx: Connection, run: Run, source: str) -> ModelFacts:
    """The last value of each metric that has one, and the parameters, as they are now."""
    found = metrics.summaries(tx, [run.id])[run.id]
    values = {key: summary.last for key, summary in sorted(found.items())[:MOST_VALUES] if summary.last is not None}
    params = kept_values(run_values.params(tx, [run.id])[run.id])
    return ModelFacts(source=source, metrics=values, params=params, run_id=run.id)


def lineage_of_run(tx: Connection, run: Run) -> dict[str, Any]:
    """The run, its job's code and inputs, or the commits that a script said it has read."""
    job = jobs.get(tx, run.job_id) if run.job_id else None
    if job is not None:
        return {"run": run.id, **lineage_of_job(job)}
    read = sorted(set(_COMMIT.findall(json.dumps([dict(one) for one in runs.record(tx, run.id).inputs], default=str))))
    return {"run": run.id, **({"inputs": read} if read else {})}


def _of_run(deps: Deps, actor: Actor, project: Project, run_id: str, path: str) -> Material:
    found = artifacts.newest(deps, actor, project, run_id)
    if found is None:
        raise NotFound(
            f"Run {run_id} has no artifacts.", hint="Log the model first: millpond.log_artifact(…)", noun="artifact"
        )
    dataset, commit = found
    try:
        tree = _below(deps, dataset, commit, path)
    except NotFound as error:
        near = error.details.get("near")
        hint = error.hint if near else f"List them: mill run artifacts {run_id}"
        raise NotFound(f"Run {run_id} has no artifact {path!r}.", hint=hint, noun="artifact", near=near) from error
    with deps.db.read() as tx:
        run = run_service.find(tx, actor, project, run_id)
        source = f"runs:/{run.id}/{path.strip('/')}".rstrip("/")
        return Material(tree, facts_of_run(tx, run, source), lineage_of_run(tx, run), [commit.tree])


def _of_logged_model(deps: Deps, actor: Actor, project: Project, model_id: str) -> Material:
    """Its own metrics and parameters come before those of its run."""
    model = logged_models.get(deps, actor, project, model_id)
    found = _of_run(deps, actor, project, model.run_id, model.folder)
    own = {str(one["key"]): float(one["value"]) for one in model.metrics if one.get("value") is not None}
    facts = ModelFacts(
        source=f"models:/{model.id}", metrics={**found.facts.metrics, **own},
        params={**found.facts.params, **kept_values(model.params)}, run_id=model.run_id, logged_model=model.id,
    )  # fmt: skip
    return Material(found.tree, facts, found.lineage, found.origins)


def _of_commit(deps: Deps, actor: Actor, project: Project, written: str) -> Material:
    named = DatasetRef.parse(written)
    if named.project not in (None, project.name):
        raise BadRequest(
            f"{written!r} is in another project.", hint="Register a model in the project that has its files."
        )
    with deps.db.read() as tx:
        dataset = dataset_service.find(tx, project, named.dataset)
    if dataset.kind is DatasetKind.ARTIFACT:
        return _of_run(deps, actor, project, _run_named(deps, dataset, named.ref), named.path or "")
    commit = reading.get_commit(deps, dataset, named.ref)
    if actor.kind is not ActorKind.SYSTEM:
        urls.check_may_know(deps, actor, commit)
    tree = _below(deps, dataset, commit, named.path or "")
    path = f":{named.path.strip('/')}" if named.path and named.path.strip("/") else ""
    facts = ModelFacts(source=f"{dataset.name}@{commit.id}{path}")
    lineage: dict[str, Any] = {"inputs": [f"{dataset.written}@{commit.id}"]}
    job_id = commit.lineage.get("job")
    if isinstance(job_id, str):
        with deps.db.read() as tx:
            job = jobs.get(tx, job_id)
            run = runs.get(tx, job.run_id) if job else None
            if run is not None:
                facts = facts_of_run(tx, run, facts.source)
                lineage = {**lineage, "run": run.id}
        lineage = {**lineage, "job": job_id}
    return Material(tree, facts, lineage, [commit.tree])


def _run_named(deps: Deps, dataset: Dataset, ref: str | None) -> str:
    """The run of `.artifacts@RUN`; a job's id or name stands for its run."""
    if not ref:
        raise Invalid("Name a run: .artifacts@RUN:path", fields=["source"])
    with deps.db.read() as tx:
        job = None if runs.get(tx, ref) else refs.find_job(tx, dataset, ref)
    return job.run_id if job else ref


def _of_version(deps: Deps, actor: Actor, project: Project, model: str, version: str) -> Material:
    found = versions.get(deps, project, model, version)
    facts = found.facts
    lineage = {
        **{key: value for key, value in found.commit.lineage.items() if key in ("run", "job", "step", "code")},
        "inputs": [f"{project.name}/{found.written}@{found.commit.id}"],
    }
    copied = ModelFacts(
        source=f"models:/{model}/{found.version.number}", metrics=facts.metrics, params=facts.params,
        signature=facts.signature, flavors=facts.flavors, run_id=facts.run_id, run_link=facts.run_link,
        logged_model=facts.logged_model, is_elsewhere=facts.is_elsewhere, files_uri=facts.files_uri,
    )  # fmt: skip
    return Material(found.commit.tree, copied, lineage, [found.commit.tree])


def _of_upload(deps: Deps, actor: Actor, project: Project, upload_id: str, tree: str) -> Material:
    upload_service.check_page_id(tree)
    with deps.db.read() as tx:
        upload = upload_service.find(tx, actor, project, upload_id)
    return Material(tree, ModelFacts(source="upload"), upload_id=upload.id)


def _elsewhere(deps: Deps, project: Project, uri: str) -> Material:
    if not uri or len(uri) > MOST_SOURCE or not uri.isprintable():
        raise Invalid(f"The source of a version must have 1 to {MOST_SOURCE} characters.", fields=["source"])
    return Material(
        write_tree(deps, project.id, None, (), ()), ModelFacts(source=uri, is_elsewhere=True, files_uri=uri)
    )


def _below(deps: Deps, dataset: Dataset, commit: Commit, path: str) -> str:
    """The tree of what lies below a path (or of the one file there), as it would be committed by itself."""
    reader = reading.reader_of(deps, dataset, commit)
    directory = reading.directory_path(path)
    if not directory:
        return commit.tree
    single = reader.stat(directory)
    is_file = single is not None and single.kind is not Kind.DIRECTORY
    entries = (
        [_moved(single, directory.rpartition(b"/")[2])] if single and is_file else list(_inside(reader, directory))
    )
    if not entries:
        raise _nothing_there(deps, dataset, commit, path)
    return write_tree(deps, dataset.project_id, None, entries, ())


def _inside(reader: TreeReader, directory: bytes) -> Iterator[Entry]:
    for entry in reader.entries(directory):
        if entry.path != directory:
            yield _moved(entry, entry.path[len(directory) + 1 :])


def _moved(entry: Entry, path: bytes) -> Entry:
    return Entry(check_path(path), entry.kind, entry.size, entry.content, entry.digest)


def _nothing_there(deps: Deps, dataset: Dataset, commit: Commit, path: str) -> NotFound:
    """With the names beside it that come near."""
    beside = to_text(from_text(path.strip("/")).rpartition(b"/")[0])
    try:
        found = reading.entries(deps, dataset, commit, path=beside, limit=1000, cursor=None)
        near = [entry.path for entry in found.items]
    except NotFound:
        near = []
    return access.not_found("path", path.strip("/"), near)
