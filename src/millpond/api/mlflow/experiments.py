"""Experiments of MLflow's API: ours, with `default` as number 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint, pair, whole
from millpond.api.mlflow.shapes import DEFAULT_NAME, experiment, experiment_id
from millpond.decide.run_filter import parse_filter
from millpond.errors import BadRequest, Invalid
from millpond.model.experiment import Experiment
from millpond.model.people import Role
from millpond.model.run import DEFAULT_EXPERIMENT
from millpond.model.run_query import Condition, FieldKind, Group, Operator
from millpond.services import listing
from millpond.services.runs import experiments

MOST = 50_000
_KEYS: dict[str, Callable[[Experiment], Any]] = {
    "name": lambda one: one.name,
    "experiment_id": lambda one: one.number,
    "creation_time": lambda one: one.created_at,
    "last_update_time": lambda one: one.changed_at,
}


def create(call: Call) -> dict[str, Any]:
    name = call.text("name")
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
    found = [one for one in experiments.list_experiments(call.deps, call.project) if _is_shown(call, one)]
    where = parse_filter(call.optional("filter") or "")
    found = _ordered([one for one in found if _holds(where, one)], [str(order) for order in call.many("order_by")])
    most = min(call.number("max_results", 1000) or 1000, MOST)
    begin = listing.number_of(call.optional("page_token") or None) or 0
    answer: dict[str, Any] = {"experiments": [experiment(one, call.project) for one in found[begin : begin + most]]}
    return answer | ({"next_page_token": listing.encode(begin + most)} if len(found) > begin + most else {})


def number_of(call: Call) -> int:
    return whole(call.text("experiment_id"), "experiment_id")


def by_id(call: Call) -> Experiment:
    return experiments.get(call.deps, call.project, number_of(call))


def _is_shown(call: Call, one: Experiment) -> bool:
    wanted = call.optional("view_type") or "ACTIVE_ONLY"
    return wanted == "ALL" or (one.deleted_at is not None) == (wanted == "DELETED_ONLY")


def _holds(condition: Condition, one: Experiment) -> bool:
    if isinstance(condition, Group):
        results = (_holds(part, one) for part in condition.parts)
        return all(results) if condition.word == "and" else any(results)
    if condition.field.kind is FieldKind.TAG:
        value = one.tags.get(condition.field.key)
    elif condition.field.key == "name":
        value = DEFAULT_NAME if one.name == DEFAULT_EXPERIMENT else one.name
    else:
        raise BadRequest("Experiments are searched by name and tags.")
    return value is not None and matches(condition.operator, value, condition.operand)


def matches(operator: Operator, value: str, operand: Any) -> bool:
    match operator:
        case Operator.EQUAL:
            return bool(value == operand)
        case Operator.UNEQUAL:
            return bool(value != operand)
        case Operator.IN | Operator.NOT_IN:
            return (value in operand) == (operator is Operator.IN)
        case Operator.LIKE:
            return fnmatchcase(value, _pattern(operand))
        case Operator.ILIKE:
            return fnmatchcase(value.lower(), _pattern(operand.lower()))
    raise BadRequest("Texts are compared with = != like, ilike and in.")


def _pattern(like: str) -> str:
    wild = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    return "".join(wild.get(character, character) for character in like)


def _ordered(found: list[Experiment], orders: Sequence[str]) -> list[Experiment]:
    for order in reversed(orders):
        key, _, direction = order.strip().partition(" ")
        if key not in _KEYS or direction.strip().lower() not in ("", "asc", "desc"):
            raise Invalid(f"Cannot order experiments by {order!r}.", hint=f"Known keys: {', '.join(_KEYS)}.")
        found = sorted(found, key=_KEYS[key], reverse=direction.strip().lower() == "desc")
    return found


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
