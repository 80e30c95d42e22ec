"""Versions of registered models: made from what runs have logged, found, described, moved to a stage, downloaded."""

from __future__ import annotations

import json
from typing import Any

from millpond.api.mlflow import filters
from millpond.api.mlflow.endpoint import Call, Endpoint
from millpond.api.mlflow.model_sources import source_of
from millpond.api.mlflow.registry import in_mlflows_words, model_version, name_of, refuse_prompts, stage_of, version_of
from millpond.api.mlflow.shapes import milliseconds, version_uri
from millpond.decide.filter_words import Words
from millpond.decide.run_filter import parse_filter
from millpond.errors import Invalid
from millpond.model.model import ModelStage, ModelVersionView, NewModelVersion
from millpond.model.people import Role
from millpond.model.run_query import Comparison, Condition, Field, FieldKind, Group, Operator
from millpond.services.models import bin, registration, versions
from millpond.services.models.versions import VersionEdit
from millpond.services.runs import logged_models

_MOST = 200_000
_DEFAULT = 10_000
_ORDER, _TIES = "last_updated_timestamp desc", "name, version_number desc"
_WORDS = Words(
    kinds=(FieldKind.TAG,),
    attributes={
        name: name
        for name in (
            "name", "version_number", "run_id", "source_path", "creation_timestamp", "last_updated_timestamp",
        )
    },
    times=("creation_timestamp", "last_updated_timestamp"),
    numbers=("version_number",),
)  # fmt: skip
_NAME = Field(FieldKind.ATTRIBUTE, "name")
_VERSIONS_TAG = "mlflow.modelVersions"
_ACTIVE = (ModelStage.STAGING, ModelStage.PRODUCTION)


def create(call: Call) -> dict[str, Any]:
    """The next version of a model that exists."""
    refuse_prompts(call)
    name, written = name_of(call), call.text("source")
    asked = NewModelVersion(
        model=name,
        source=source_of(call, written),
        description=call.optional("description") or "",
        tags=call.pairs("tags"),
        run_id=call.optional("run_id") or None,
        run_link=call.optional("run_link") or "",
        written_source=written,
        create_model=False,
    )
    with in_mlflows_words(name):
        made = registration.register(call.deps, call.actor, call.project, asked)
    if model_id := call.optional("model_id"):
        _note(call, model_id, made)
    return {"model_version": model_version(made)}


def get(call: Call) -> dict[str, Any]:
    return {"model_version": model_version(_found(call))}


def update(call: Call) -> dict[str, Any]:
    return _change(call, VersionEdit(description=call.optional("description")))


def transition(call: Call) -> dict[str, Any]:
    stage = stage_of(call.text("stage"))
    archive = call.flag("archive_existing_versions")
    if archive and stage not in _ACTIVE:
        raise Invalid(
            "Model version transition cannot archive existing model versions because "
            f"'{stage.value}' is not an Active stage. Valid stages are Staging and Production.", fields=["stage"]
        )  # fmt: skip
    return _change(call, VersionEdit(stage=stage, archive_others=archive))


def delete(call: Call) -> dict[str, Any]:
    name, version = name_of(call), version_of(call)
    with in_mlflows_words(name, version):
        bin.delete_version(call.deps, call.actor, call.project, name, version)
    return {}


def set_tag(call: Call) -> dict[str, Any]:
    _change(call, VersionEdit(tags={call.text("key"): call.optional("value") or ""}))
    return {}


def delete_tag(call: Call) -> dict[str, Any]:
    _change(call, VersionEdit(tags={call.text("key"): None}))
    return {}


def get_download_uri(call: Call) -> dict[str, Any]:
    """Of the version's own files, which stay when its run goes; of files elsewhere as they were given."""
    found = _found(call)
    return {"artifact_uri": found.facts.files_uri if found.facts.is_elsewhere else version_uri(found)}


def search(call: Call) -> dict[str, Any]:
    """Changed last first, unless ordered otherwise."""
    names = _names(parse_filter(call.optional("filter") or "", _WORDS))
    found, token = filters.search(
        call, versions.all_of(call.deps, call.project, names), _WORDS, _value, order=_ORDER, ties=_TIES,
        most=_MOST, default=_DEFAULT,
    )  # fmt: skip
    answer: dict[str, Any] = {"model_versions": [model_version(view) for view in found]}
    return answer | ({"next_page_token": token} if token else {})


def _note(call: Call, model_id: str, made: ModelVersionView) -> None:
    """On the logged model: which versions were made of it."""
    model = logged_models.get(call.deps, call.actor, call.project, model_id)
    try:
        known = json.loads(model.tags.get(_VERSIONS_TAG, "[]"))
    except ValueError:
        known = []
    told = json.dumps([*known, {"name": made.model, "version": made.version.number}])
    logged_models.change(call.deps, call.actor, call.project, model_id, tags={_VERSIONS_TAG: told})


def _found(call: Call) -> ModelVersionView:
    name, version = name_of(call), version_of(call)
    with in_mlflows_words(name, version):
        return versions.get(call.deps, call.project, name, version)


def _change(call: Call, edit: VersionEdit) -> dict[str, Any]:
    name, version = name_of(call), version_of(call)
    with in_mlflows_words(name, version):
        return {"model_version": model_version(versions.edit(call.deps, call.actor, call.project, name, version, edit))}


def _names(where: Condition) -> list[str] | None:
    """The one model whose versions a filter can match at most; None for any. Spares reading all others."""
    parts = where.parts if isinstance(where, Group) and where.word == "and" else (where,)
    named = [part for part in parts if isinstance(part, Comparison) and part.field == _NAME]
    return next(([str(part.operand)] for part in named if part.operator is Operator.EQUAL), None)


def _value(view: ModelVersionView, field: Field) -> Any:
    if field.kind is FieldKind.TAG:
        return view.version.tags.get(field.key)
    match field.key:
        case "version_number":
            return view.version.number
        case "run_id":
            return view.facts.run_id
        case "source_path":
            return view.facts.source
        case "creation_timestamp":
            return milliseconds(view.commit.time)
        case "last_updated_timestamp":
            return milliseconds(view.version.changed_at)
    return view.model


ENDPOINTS = (
    Endpoint("POST", "model-versions/create", Role.MEMBER, create),
    Endpoint("GET", "model-versions/get", Role.VIEWER, get),
    Endpoint("PATCH", "model-versions/update", Role.MEMBER, update),
    Endpoint("DELETE", "model-versions/delete", Role.MEMBER, delete, for_jobs=False),
    Endpoint("GET", "model-versions/search", Role.VIEWER, search),
    Endpoint("GET", "model-versions/get-download-uri", Role.VIEWER, get_download_uri),
    Endpoint("POST", "model-versions/transition-stage", Role.MEMBER, transition),
    Endpoint("POST", "model-versions/set-tag", Role.MEMBER, set_tag),
    Endpoint("DELETE", "model-versions/delete-tag", Role.MEMBER, delete_tag),
)
