"""Groups of runs and saved views through API, command line and SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millpond.model.people import Role
from millpond.testing.server import RunningServer, running_server

VIEWS = "/projects/default/run-views"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(Path(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture(scope="module")
def maria(server: RunningServer) -> httpx.Client:
    return server.user("maria", roles={"default": Role.MEMBER})


@pytest.fixture(scope="module")
def vera(server: RunningServer) -> httpx.Client:
    return server.user("vera", roles={"default": Role.VIEWER})


def names(client: httpx.Client) -> list[tuple[str, bool]]:
    return [(view["name"], view["shared"]) for view in client.get(VIEWS).json()["items"]]


def test_a_view_is_ones_own_unless_shared(maria: httpx.Client, vera: httpx.Client) -> None:
    own = {"name": "best", "filter": "metrics.acc > 0.9", "sort": "metrics.acc desc", "columns": "params.lr"}
    assert maria.put(VIEWS, json=own).status_code == 200
    assert maria.put(VIEWS, json={"name": "team's", "group": "tags.team", "shared": True}).status_code == 200
    assert maria.put(VIEWS, json={**own, "filter": "metrics.acc > 0.5"}).status_code == 200
    assert names(maria) == [("best", False), ("team's", True)]
    assert maria.get(VIEWS).json()["items"][0]["filter"] == "metrics.acc > 0.5"
    # A viewer keeps own views, and shares none.
    assert names(vera) == [("team's", True)]
    assert vera.put(VIEWS, json={"name": "mine"}).status_code == 200
    assert vera.put(VIEWS, json={"name": "mine", "shared": True}).status_code == 403
    shared = next(view["id"] for view in vera.get(VIEWS).json()["items"] if view["shared"])
    assert vera.delete(f"{VIEWS}/{shared}").status_code == 403
    assert maria.delete(f"{VIEWS}/{shared}").status_code == 204
    assert maria.delete(f"{VIEWS}/{shared}").status_code == 404
    assert names(vera) == [("mine", False)]


def test_a_view_that_cannot_be_read_is_refused(maria: httpx.Client) -> None:
    answer = maria.put(VIEWS, json={"name": "bad", "filter": "metrics.acc >> 3"})
    assert (answer.status_code, answer.json()["details"]["position"]) == (400, 13)
    assert maria.put(VIEWS, json={"name": "bad", "group": "metrics.acc"}).status_code == 400
    assert maria.put(VIEWS, json={"name": " "}).status_code == 422
    assert "bad" not in dict(names(maria))


def test_groups_cover_the_whole_list_and_name_the_filter_of_each(maria: httpx.Client) -> None:
    for place in range(5):
        wanted = {"experiment": "groups", "params": {"opt": "it's" if place % 2 else "sgd"}, "tags": {"n": str(place)}}
        run = maria.post("/projects/default/runs", json=wanted).json()["id"]
        series = [{"key": "acc", "steps": [0], "values": [float(place)], "times": [0]}]
        maria.post(
            f"/projects/default/runs/{run}/batch", json={"writer": "one", "sequence": 0, "series": series}
        ).raise_for_status()
    asked = {"experiment": "groups", "project": "default", "columns": "metrics.acc, params.opt"}
    (sgd, its) = maria.get("/runs/groups", params={**asked, "by": "params.opt"}).json()["items"]
    assert (sgd["value"], sgd["runs"], sgd["metrics"]["metrics.acc"]["mean"]) == ("sgd", 3, 2.0)
    assert (its["runs"], its["filter"]) == (2, "params.opt = 'it\\'s'")
    inside = maria.get("/runs", params={**asked, "filter": its["filter"]}).json()["items"]
    assert {run["tags"].get("n", "") for run in inside} == {""}
    assert len(inside) == 2
    first = maria.get("/runs/groups", params={**asked, "by": "tags.n", "limit": 3}).json()
    second = maria.get("/runs/groups", params={**asked, "by": "tags.n", "limit": 3, "cursor": first["next"]}).json()
    assert [group["value"] for group in first["items"] + second["items"]] == ["0", "1", "2", "3", "4"]
    assert second["next"] is None
    (everything,) = maria.get("/runs/groups", params=asked).json()["items"]
    assert (everything["runs"], everything["filter"]) == (5, None)
    wrong = maria.get("/runs/groups", params={**asked, "by": "metrics.acc"})
    assert (wrong.status_code, wrong.json()["details"]["word"]) == (400, "metrics")
