"""Experiments of MLflow's API: ours, with `default` as number 0."""

from __future__ import annotations

from typing import Any

from millpond.api.mlflow import filters
from millpond.api.mlflow.endpoint import Call, Endpoint, pair, whole
from millpond.api.mlflow.shapes import DEFAULT_NAME, experiment, experiment_id, milliseconds
from millpond.decide.filter_words import Words
from millpond.model.experiment import Experiment
from millpond.model.people import Role
from millpond.model.run import DEFAULT_EXPERIMENT
from millpond.model.run_query import Field, FieldKind
from millpond.services.runs import experiments

MOST = 50_000
_ORDER, _TIES = "creation_time desc", "experiment_id desc"
_WORDS = Words(
    kinds=(FieldKind.TAG,),
    attributes={name: name for name in ("name", "experiment_id", "creation_time", "last_update_time")},
    times=("creation_time", "last_update_time"),
    numbers=("experiment_id",),
)


def create(call: Call) -> dict[str, Any]:
    name = call.text("name")
    call.optional("artifact_location")  # a text if it is there; artifacts are always kept in the lake
    if name == DEFAULT_NAME:
        experiments.ensure_default(call.deps, call.project)
        name = DEFAULT_EXPERIMENT
    made = experiments.create(call.deps, call.actor, call.project, name, call.pairs("tags"))
    return {"experiment_id": experiment_id(made)}


def get(call: Call) -> dict[str, Any]:
    return {"experiment": experiment(by_id(call), call.project)}


def get_by_name(call: Call) -> dict[str, Any]:
    name = call.text("experiment_name")
    found = experiments.find(call.deps, call.project, DEFAULT_EXPERIMENT if name == DEFAULT_NAME else name)
    return {"experiment": experiment(found, call.project)}


def update(call: Call) -> dict[str, Any]:
    experiments.change(call.deps, call.actor, call.project, number_of(call), name=call.optional("new_name"))
    return {}


def delete(call: Call) -> dict[str, Any]:
    experiments.move_to_bin(call.deps, call.actor, call.project, number_of(call))
    return {}


def restore(call: Call) -> dict[str, Any]:
    experiments.take_from_bin(call.deps, call.actor, call.project, number_of(call))
    return {}


def set_tag(call: Call) -> dict[str, Any]:
    key, value = pair({"key": call.text("key"), "value": call.optional("value") or ""}, "tags")
    experiments.change(call.deps, call.actor, call.project, number_of(call), tags={key: value})
    return {}


def delete_tag(call: Call) -> dict[str, Any]:
    tags: dict[str, str | None] = {call.text("key"): None}
    experiments.change(call.deps, call.actor, call.project, number_of(call), tags=tags)
    return {}


def search(call: Call) -> dict[str, Any]:
    """Newest first, unless ordered otherwise."""
    shown = (one for one in experiments.list_experiments(call.deps, call.project) if _is_shown(call, one))
    found, token = filters.search(call, shown, _WORDS, _value, order=_ORDER, ties=_TIES, most=MOST, default=1000)
    answer: dict[str, Any] = {"experiments": [experiment(one, call.project) for one in found]}
    return answer | ({"next_page_token": token} if token else {})


def number_of(call: Call) -> int:
    return whole(call.text("experiment_id"), "experiment_id")


def by_id(call: Call) -> Experiment:
    return experiments.get(call.deps, call.project, number_of(call))


def _is_shown(call: Call, one: Experiment) -> bool:
    wanted = call.optional("view_type") or "ACTIVE_ONLY"
    return wanted == "ALL" or (one.deleted_at is not None) == (wanted == "DELETED_ONLY")


def _value(one: Experiment, field: Field) -> Any:
    if field.kind is FieldKind.TAG:
        return one.tags.get(field.key)
    match field.key:
        case "experiment_id":
            return one.number
        case "creation_time":
            return milliseconds(one.created_at)
        case "last_update_time":
            return milliseconds(one.changed_at)
    return DEFAULT_NAME if one.name == DEFAULT_EXPERIMENT else one.name


ENDPOINTS = (
    Endpoint("POST", "experiments/create", Role.MEMBER, create),
    Endpoint("GET", "experiments/get", Role.VIEWER, get),
    Endpoint("GET", "experiments/get-by-name", Role.VIEWER, get_by_name),
    Endpoint("POST", "experiments/update", Role.MEMBER, update, for_jobs=False),
    Endpoint("POST", "experiments/delete", Role.MEMBER, delete, for_jobs=False),
    Endpoint("POST", "experiments/restore", Role.MEMBER, restore, for_jobs=False),
    Endpoint("POST", "experiments/set-experiment-tag", Role.MEMBER, set_tag, for_jobs=False),
    Endpoint("POST", "experiments/delete-experiment-tag", Role.MEMBER, delete_tag, for_jobs=False),
    Endpoint("POST", "experiments/search", Role.VIEWER, search),
    Endpoint("GET", "experiments/search", Role.VIEWER, search),
)
