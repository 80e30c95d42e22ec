"""Endpoints as people create and change them: every change a revision, every name resolved, nothing half done."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from millpond.db import audit, models
from millpond.errors import BadRequest, Conflict, Forbidden, Invalid, NameTaken, NotFound
from millpond.model.endpoint import EndpointState, EndpointView
from millpond.model.model_check import CheckState, ModelCheck
from millpond.model.people import Role
from millpond.services.endpoints import endpoints
from millpond.testing.clock import NOON
from tests.unit.services.world import World


def asked(name: str = "xray", model: str = "chest@1", **more: Any) -> str:
    versions = [{"model": model, "weight": 100}]
    return json.dumps({"schema": "millpond.endpoint/1", "name": name, "versions": versions, **more})


def create(world: World, *args: str, **more: Any) -> EndpointView:
    return endpoints.create(world.deps, world.maria, world.project, asked(*args, **more), unchecked=True)


def shares(view: EndpointView) -> dict[str, int]:
    return {one.model: one.weight for one in view.endpoint.spec.versions}


def test_names_become_numbers_and_the_only_site_is_taken(world: World, model: str) -> None:
    made = create(world, "xray", "chest@candidate").endpoint
    assert [one.model for one in made.spec.versions] == ["chest@2"]
    assert [one.site for one in made.spec.sites] == [world.agent.agent.site]
    assert made.state is EndpointState.STARTING and dict(made.wanted) == {world.agent.agent.site: 1}
    with world.deps.db.read() as tx:
        assert audit.page(tx, limit=1)[0].action == "endpoint.create"


def test_every_change_is_a_revision_and_a_rollback_goes_further_back_each_time(world: World, model: str) -> None:
    create(world)
    deps, maria, project = world.deps, world.maria, world.project
    for number in (2, 3):
        endpoints.update(deps, maria, project, "xray", asked(model=f"chest@{number}"), unchecked=True)
    assert endpoints.update(deps, maria, project, "xray", asked(model="chest@3"), unchecked=True).endpoint.number == 3
    assert shares(endpoints.roll_back(deps, maria, project, "xray")) == {"chest@2": 100}
    assert shares(endpoints.roll_back(deps, maria, project, "xray")) == {"chest@1": 100}
    with pytest.raises(Conflict, match="no revision before"):
        endpoints.roll_back(deps, maria, project, "xray")
    assert shares(endpoints.roll_back(deps, maria, project, "xray", to=3)) == {"chest@3": 100}
    found = endpoints.list_revisions(deps, project, "xray")
    assert [(one.number, one.action, one.restores) for one in found] == [
        (6, "rollback", 3), (5, "rollback", 1), (4, "rollback", 2), (3, "update", None), (2, "update", None),
        (1, "create", None),
    ]  # fmt: skip


def test_a_canary_is_promoted_or_rolled_back(world: World, model: str) -> None:
    create(world, rollout={"step": 10, "every": "1m"})
    deps, maria, project = world.deps, world.maria, world.project
    with pytest.raises(Conflict, match="has no canary"):
        endpoints.promote(deps, maria, project, "xray")
    view = endpoints.canary(deps, maria, project, "xray", model="chest@2", weight=5, unchecked=True)
    assert shares(view) == {"chest@1": 95, "chest@2": 5}
    assert view.endpoint.rollout is not None and view.endpoint.rollout.canary == "chest@2"
    with pytest.raises(Conflict, match="already splits"):
        endpoints.canary(deps, maria, project, "xray", model="chest@3", weight=5, unchecked=True)
    view = endpoints.canary(deps, maria, project, "xray", model="chest@2", weight=50, unchecked=True)
    assert shares(view)["chest@2"] == 50
    view = endpoints.promote(deps, maria, project, "xray")
    assert shares(view) == {"chest@2": 100} and view.endpoint.rollout is None
    with pytest.raises(Conflict, match="already serves"):
        endpoints.canary(deps, maria, project, "xray", model="chest@2", weight=5, unchecked=True)
    endpoints.canary(deps, maria, project, "xray", model="chest@3", weight=5, unchecked=True)
    assert shares(endpoints.roll_back(deps, maria, project, "xray")) == {"chest@2": 100}


def test_limits_of_replicas(world: World, model: str) -> None:
    create(world)
    deps, maria, project, site = world.deps, world.maria, world.project, world.agent.agent.site
    view = endpoints.scale(deps, maria, project, "xray", site=None, least=2, most=5)
    assert view.endpoint.wanted == {site: 2} and view.endpoint.spec.sites[0].max == 5
    with pytest.raises(Invalid, match="below the minimum"):
        endpoints.scale(deps, maria, project, "xray", site=site, least=None, most=1)
    with pytest.raises(Invalid, match="no site"):
        endpoints.scale(deps, maria, project, "xray", site="mars", least=1, most=1)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (asked(model="chset@1"), NotFound, "chset"),
        (asked(model="chest@9"), NotFound, "no version '9'"),
        (asked(sites={"mars": {}}), NotFound, "mars"),
        (asked(sites={"mars-*": {}}), Invalid, "No site matches"),
        (asked(sites={"*": {"template": "huge"}}), NotFound, "huge"),
        ("schema: millpond.endpoint/1\nname: a\nversons: 1\n", Invalid, "Line 1"),
    ],
)
def test_what_does_not_exist_is_refused_and_nothing_is_stored(
    world: World, model: str, text: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        endpoints.create(world.deps, world.maria, world.project, text)
    assert not endpoints.list_endpoints(world.deps, world.maria, project=None, limit=10, cursor=None).items


def test_the_same_version_under_two_names_is_refused(world: World, model: str) -> None:
    twice = [{"model": "chest@2", "weight": 50}, {"model": "chest@candidate", "weight": 50}]
    with pytest.raises(Invalid, match="the same"):
        endpoints.create(world.deps, world.maria, world.project, json.dumps({**json.loads(asked()), "versions": twice}))


def test_names_ports_and_stale_revisions(world: World, model: str) -> None:
    create(world)
    deps, maria, project = world.deps, world.maria, world.project
    with pytest.raises(NameTaken, match="already exists"):
        create(world)
    with pytest.raises(Conflict, match=r"Port 8000 .* is used by endpoint xray"):
        create(world, "other", ports={"http": 8000, "grpc": 9001, "metrics": 9002})
    create(world, "beside")
    create(world, "apart", ports={"http": 9000, "grpc": 9001, "metrics": 9002})
    with pytest.raises(BadRequest, match="names the endpoint"):
        endpoints.update(deps, maria, project, "xray", asked("other"), unchecked=True)
    endpoints.update(deps, maria, project, "xray", asked(model="chest@2"), expected=1, unchecked=True)
    with pytest.raises(Conflict, match="newest revision is 2"):
        endpoints.update(deps, maria, project, "xray", asked(model="chest@3"), expected=1, unchecked=True)


def test_deleting_takes_no_more_changes_and_viewers_change_nothing(world: World, model: str) -> None:
    create(world)
    deps, maria, project = world.deps, world.maria, world.project
    viewer = replace(maria, roles={project.id: Role.VIEWER}, is_admin=False)
    for change in (
        lambda: endpoints.create(deps, viewer, project, asked("new")),
        lambda: endpoints.promote(deps, viewer, project, "xray"),
        lambda: endpoints.delete(deps, viewer, project, "xray"),
    ):
        with pytest.raises(Forbidden):
            change()
    endpoints.delete(deps, maria, project, "xray")
    assert endpoints.get(deps, project, "xray").endpoint.state is EndpointState.DELETING
    with pytest.raises(Conflict, match="being deleted"):
        endpoints.update(deps, maria, project, "xray", asked(), unchecked=True)
    with pytest.raises(NotFound, match="endpoint"):
        endpoints.get(deps, project, "xry")


def test_a_version_must_have_passed_its_check(world: World, model: str) -> None:
    deps, maria, project = world.deps, world.maria, world.project
    with pytest.raises(Conflict, match="has not been checked") as refused:
        endpoints.create(deps, maria, project, asked())
    assert "mill model check chest@1" in str(refused.value.hint)
    with deps.db.write() as tx:
        found = models.find(tx, project.id, model)
        assert found is not None
        for number, state in ((1, CheckState.PASSED), (2, CheckState.FAILED)):
            models.keep_check(tx, found.dataset.id, number, ModelCheck(state, "j", "maria", NOON, error="no output"))
    endpoints.create(deps, maria, project, asked())
    with pytest.raises(Conflict, match="failed its check: no output"):
        endpoints.update(deps, maria, project, "xray", asked(model="chest@2"))
    with pytest.raises(Conflict, match="has not been checked"):
        endpoints.canary(deps, maria, project, "xray", model="chest@3", weight=5)
    assert shares(endpoints.update(deps, maria, project, "xray", asked(model="chest@2"), unchecked=True))
    endpoints.scale(deps, maria, project, "xray", site=None, least=2, most=2)
