"""Models as the wire shows them, and what is asked of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from millpond.api.shapes import data
from millpond.decide.models import ValueDifference, signature_parts
from millpond.model.model import (
    FromCommit,
    FromElsewhere,
    FromLoggedModel,
    FromRun,
    FromUpload,
    FromVersion,
    ModelSource,
    ModelVersionView,
    ModelView,
    NewModelVersion,
    split_written,
)
from millpond.model.model_check import ModelCheck
from millpond.model.names import model_dataset
from millpond.services.models.batch import BatchPrediction
from millpond.services.models.comparison import Comparison
from millpond.services.models.versions import VersionEdit
from millpond.wire import models as wire

_REPORTED = (
    "backend", "load_ms", "first_ms", "median_ms", "p95_ms", "runs", "memory", "peak_memory", "inputs", "outputs",
    "python", "packages",
)  # fmt: skip


def model(view: ModelView) -> wire.Model:
    found, dataset = view.model, view.model.dataset
    return wire.Model(
        id=dataset.id,
        project=dataset.project,
        name=found.name,
        dataset=dataset.name,
        description=dataset.description,
        tags=dict(found.tags),
        aliases=dict(view.aliases),
        versions=view.versions,
        newest=version(view.newest) if view.newest else None,
        created_at=dataset.created_at,
        created_by=dataset.created_by,
        changed_at=found.changed_at,
        deleted_at=found.deleted_at,
    )


def version(view: ModelVersionView) -> wire.ModelVersion:
    found, facts, lineage = view.version, view.facts, view.commit.lineage
    return wire.ModelVersion(
        project=view.project,
        model=view.model,
        version=found.number,
        state=view.state,
        description=found.description,
        stage=found.stage,
        aliases=list(view.aliases),
        tags=dict(found.tags),
        metrics=dict(facts.metrics),
        params=dict(facts.params),
        signature=json.loads(facts.signature) if facts.signature else None,
        signature_columns=signature_parts(facts.signature),
        flavors=list(facts.flavors),
        check=check(found.check) if found.check else None,
        source=facts.source,
        run=facts.run_id,
        job=_text(lineage.get("job")),
        step=_text(lineage.get("step")),
        code=_text(lineage.get("code")),
        inputs=[str(one) for one in lineage.get("inputs") or ()],
        dataset=model_dataset(view.model),
        commit=view.commit.id,
        files=view.commit.files,
        bytes=view.commit.bytes,
        created_at=view.commit.time,
        created_by=view.commit.author,
        changed_at=found.changed_at,
        deleted_at=found.deleted_at,
    )


def check(found: ModelCheck) -> wire.ModelCheck:
    # Written by a job: only what has the right type is told.
    told = {key: found.report.get(key) for key in _REPORTED if found.report.get(key) is not None}
    kept = {"state": found.state, "job": found.job_id, "by": found.by, "at": found.at, "error": found.error or None}
    try:
        return wire.ModelCheck.model_validate({**told, **kept})
    except ValidationError:
        return wire.ModelCheck.model_validate(kept)


def comparison(found: Comparison) -> wire.ModelComparison:
    return wire.ModelComparison(
        before=version(found.before),
        after=version(found.after),
        metrics=_differences(found.facts.metrics),
        params=_differences(found.facts.params),
        tags=_differences(found.facts.tags),
        signature=_differences(found.facts.signature),
        files=data.diff(found.files),
    )


def new_version(name: str, body: wire.ModelVersionCreate) -> NewModelVersion:
    return NewModelVersion(
        model=name,
        source=source(body.source),
        description=body.description,
        tags=body.tags,
        aliases=body.aliases,
        metrics=body.metrics,
        params=body.params,
        signature=json.dumps(body.signature) if body.signature else "",
        run_id=body.run,
    )


def edit(body: wire.ModelVersionChange) -> VersionEdit:
    return VersionEdit(**body.model_dump())


def source(asked: wire.ModelSource) -> ModelSource:
    if asked.run is not None:
        return FromRun(asked.run, asked.path)
    if asked.logged_model is not None:
        return FromLoggedModel(asked.logged_model)
    if asked.commit is not None:
        return FromCommit(asked.commit)
    if asked.version is not None:
        return FromVersion(*split_written(asked.version))
    if asked.upload is not None:
        return FromUpload(asked.upload, asked.tree or "")
    return FromElsewhere(asked.uri or "")


def _differences(found: Iterable[ValueDifference]) -> list[wire.ValueDifference]:
    return [
        wire.ValueDifference(key=one.key, before=one.before, after=one.after, differs=one.is_different) for one in found
    ]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def batch(body: wire.BatchPrediction) -> BatchPrediction:
    return BatchPrediction(
        input=body.input, output=body.output, shards=body.shards, columns=tuple(body.columns),
        max_errors=body.max_errors, on=body.on, builds_environment=body.environment,
    )  # fmt: skip
