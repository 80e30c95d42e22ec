"""Versions at the edge: push one to sites, and roll it back. Sites swap when they have loaded it (`rounds.py`)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection

from millpond.db import endpoints as rows
from millpond.decide.endpoints.pushes import pushed, pushed_back
from millpond.errors import Conflict
from millpond.model.endpoint import Endpoint, EndpointView
from millpond.model.endpoint_spec import ENDPOINT_SCHEMA, EndpointSpec
from millpond.model.model import split_written
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.endpoints import checking, endpoints


def push(
    deps: Deps, actor: Actor, project: Project, *, model: str, sites: Sequence[str], endpoint: str | None,
    unchecked: bool = False,
) -> EndpointView:  # fmt: skip
    """Let sites and patterns of sites serve a version, also those that match later.

    Without a name: of the only endpoint that serves the model. One that does not exist is created.
    """
    with deps.db.read() as tx:
        number = checking.numbered(tx, project, model)
        name = endpoint or _serving(tx, project, split_written(number)[0])
        known = rows.find(tx, project.id, name)
    if known is None:
        return endpoints.create(deps, actor, project, _first(name, number, sites), unchecked=unchecked)

    def changed(tx: Connection, before: Endpoint) -> EndpointSpec:
        return pushed(before.spec, sites, number)

    return endpoints.revise(deps, actor, project, name, "push", changed, unchecked=unchecked)


def roll_back(deps: Deps, actor: Actor, project: Project, written: str, *, sites: Sequence[str]) -> EndpointView:
    """The version before at these sites; without sites, where the newest push went."""

    def changed(tx: Connection, before: Endpoint) -> EndpointSpec:
        return pushed_back(before.spec, rows.revisions(tx, before.id)[::-1], sites)

    return endpoints.revise(deps, actor, project, written, "rollback", changed)


def _serving(tx: Connection, project: Project, model: str) -> str:
    """The endpoint that serves a model, or the model's name if none does. Conflict where several do."""
    found = [one.name for one in rows.all_of(tx, project.id) if one.deleted_at is None and model in _models(one.spec)]
    if len(found) > 1:
        raise Conflict(f"{len(found)} endpoints serve {model}: {', '.join(found)}.", hint="Choose one: --endpoint NAME")
    return found[0] if found else model


def _models(spec: EndpointSpec) -> set[str]:
    at_sites = {one.model.rpartition("@")[0] for one in spec.sites if one.model}
    return {one.name for one in spec.versions} | at_sites


def _first(name: str, model: str, sites: Sequence[str]) -> str:
    """`endpoint.yaml` of an endpoint that serves one version at these sites, one replica each."""
    document = {
        "schema": ENDPOINT_SCHEMA,
        "name": name,
        "versions": [{"model": model, "weight": 100}],
        "sites": {site: {"model": model} for site in sites},
    }
    return json.dumps(document)
