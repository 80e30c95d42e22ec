"""Registered models of MLflow's API: our models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.api.mlflow import filters
from millpond.api.mlflow.endpoint import Call, Endpoint, one_text
from millpond.api.mlflow.registry import (
    in_mlflows_words,
    model_version,
    name_of,
    refuse_prompts,
    registered_model,
    stage_of,
    version_of,
)
from millpond.api.mlflow.shapes import milliseconds
from millpond.decide.filter_words import Words
from millpond.decide.models import check_alias
from millpond.errors import Invalid, NotFound
from millpond.model.model import LATEST, ModelStage, ModelVersionView, ModelView
from millpond.model.people import Role
from millpond.model.run_query import Field, FieldKind
from millpond.services.models import aliases, bin, models, versions

_MOST = 1000
_DEFAULT = 100
_WORDS = Words(
    kinds=(FieldKind.TAG,),
    attributes={
        "name": "name",
        "creation_timestamp": "creation_timestamp",
        "last_updated_timestamp": "last_updated_timestamp",
        "timestamp": "last_updated_timestamp",
    },
    times=("creation_timestamp", "last_updated_timestamp"),
)


def create(call: Call) -> dict[str, Any]:
    refuse_prompts(call)
    name = name_of(call)
    with in_mlflows_words(name):
        made = models.create(
            call.deps, call.actor, call.project, name,
            description=call.optional("description") or "", tags=call.pairs("tags"),
        )  # fmt: skip
    return {"registered_model": registered_model(made, [])}


def get(call: Call) -> dict[str, Any]:
    name = name_of(call)
    with in_mlflows_words(name):
        return _answer(call, models.get(call.deps, call.project, name))


def rename(call: Call) -> dict[str, Any]:
    name, new_name = name_of(call), name_of(call, "new_name")
    with in_mlflows_words(name):
        return _answer(call, models.change(call.deps, call.actor, call.project, name, new_name=new_name))


def update(call: Call) -> dict[str, Any]:
    name = name_of(call)
    with in_mlflows_words(name):
        description = call.optional("description")
        return _answer(call, models.change(call.deps, call.actor, call.project, name, description=description))


def delete(call: Call) -> dict[str, Any]:
    name = name_of(call)
    with in_mlflows_words(name):
        bin.delete_model(call.deps, call.actor, call.project, name)
    return {}


def set_tag(call: Call) -> dict[str, Any]:
    return _change_tag(call, call.optional("value") or "")


def delete_tag(call: Call) -> dict[str, Any]:
    return _change_tag(call, None)


def search(call: Call) -> dict[str, Any]:
    found, token = filters.search(
        call,
        models.all_of(call.deps, call.project),
        _WORDS,
        _value,
        order="",
        ties="name",
        most=_MOST,
        default=_DEFAULT,
    )
    newest = _newest(versions.all_of(call.deps, call.project, [view.model.name for view in found]))
    answer = {"registered_models": [registered_model(view, newest.get(view.model.name, [])) for view in found]}
    return answer | ({"next_page_token": token} if token else {})


def get_latest_versions(call: Call) -> dict[str, Any]:
    """The newest version of each stage, or of these stages."""
    name = name_of(call)
    wanted = {stage_of(one_text(item)) for item in call.many("stages")} or set(ModelStage)
    with in_mlflows_words(name):
        models.get(call.deps, call.project, name)
    newest = _newest(versions.all_of(call.deps, call.project, [name])).get(name, [])
    return {"model_versions": [model_version(one) for one in newest if one.version.stage in wanted]}


def set_alias(call: Call) -> dict[str, Any]:
    name, alias, version = name_of(call), call.text("alias"), version_of(call)
    with in_mlflows_words(name, version):
        aliases.point(call.deps, call.actor, call.project, name, alias, version)
    return {}


def delete_alias(call: Call) -> dict[str, Any]:
    """Done as well if there is none, as MLflow's server does."""
    name, alias = name_of(call), call.text("alias")
    with in_mlflows_words(name):
        if alias in models.get(call.deps, call.project, name).aliases:
            aliases.remove(call.deps, call.actor, call.project, name, alias)
    return {}


def get_by_alias(call: Call) -> dict[str, Any]:
    name, alias = name_of(call), call.text("alias")
    if alias.lower() != LATEST:
        check_alias(alias)
    with in_mlflows_words(name, alias):
        try:
            return {"model_version": model_version(versions.get(call.deps, call.project, name, alias))}
        except NotFound as error:
            if error.details.get("noun") == "version" and alias.lower() != LATEST:
                raise Invalid(f"Registered model alias {alias} not found.", hint=error.hint) from error
            raise


def _change_tag(call: Call, value: str | None) -> dict[str, Any]:
    name, tags = name_of(call), {call.text("key"): value}
    with in_mlflows_words(name):
        models.change(call.deps, call.actor, call.project, name, tags=tags)
    return {}


def _answer(call: Call, view: ModelView) -> dict[str, Any]:
    name = view.model.name
    newest = _newest(versions.all_of(call.deps, call.project, [name])).get(name, [])
    return {"registered_model": registered_model(view, newest)}


def _newest(found: Sequence[ModelVersionView]) -> dict[str, list[ModelVersionView]]:
    """The version with the greatest number of each stage, by model."""
    newest: dict[str, dict[ModelStage, ModelVersionView]] = {}
    for view in sorted(found, key=lambda one: one.version.number):
        newest.setdefault(view.model, {})[view.version.stage] = view
    return {name: list(by_stage.values()) for name, by_stage in newest.items()}


def _value(view: ModelView, field: Field) -> Any:
    if field.kind is FieldKind.TAG:
        return view.model.tags.get(field.key)
    match field.key:
        case "creation_timestamp":
            return milliseconds(view.model.dataset.created_at)
        case "last_updated_timestamp":
            return milliseconds(view.model.changed_at)
    return view.model.name


ENDPOINTS = (
    Endpoint("POST", "registered-models/create", Role.MEMBER, create),
    Endpoint("GET", "registered-models/get", Role.VIEWER, get),
    Endpoint("POST", "registered-models/rename", Role.MEMBER, rename, for_jobs=False),
    Endpoint("PATCH", "registered-models/update", Role.MEMBER, update, for_jobs=False),
    Endpoint("DELETE", "registered-models/delete", Role.MEMBER, delete, for_jobs=False),
    Endpoint("GET", "registered-models/search", Role.VIEWER, search),
    Endpoint("GET", "registered-models/get-latest-versions", Role.VIEWER, get_latest_versions),
    Endpoint("POST", "registered-models/get-latest-versions", Role.VIEWER, get_latest_versions),
    Endpoint("POST", "registered-models/set-tag", Role.MEMBER, set_tag, for_jobs=False),
    Endpoint("DELETE", "registered-models/delete-tag", Role.MEMBER, delete_tag, for_jobs=False),
    Endpoint("POST", "registered-models/alias", Role.MEMBER, set_alias),
    Endpoint("DELETE", "registered-models/alias", Role.MEMBER, delete_alias),
    Endpoint("GET", "registered-models/alias", Role.VIEWER, get_by_alias),
)
