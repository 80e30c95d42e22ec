"""The graph of lineage through the API: both ways, from every kind of root, cut as asked, only what one may see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.db import lineage
from millpond.db.engine import Database
from millpond.model.dataset import DatasetKind
from millpond.model.job_spec import JobInput
from millpond.model.lineage import LineageEdge, LineageRole, Maker
from millpond.model.people import Role
from millpond.testing.builders_work import add_commit, add_job
from millpond.testing.server import RunningServer, running_server

GRAPH = "/projects/default/lineage"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(Path(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture(scope="module")
def maria(server: RunningServer) -> httpx.Client:
    return server.user("maria", roles={"default": Role.MEMBER})


def a_result(db: Database, data: str, name: str) -> tuple[str, str, str]:
    """A job that read a commit and code, with its output: the run, the code, the output."""
    code = add_commit(db, ".code", kind=DatasetKind.CODE)
    job = add_job(db, name=name, inputs=(JobInput("default/xray", "main", data, "d", "X"),), code_commit=code)
    made = {"job": job.id, "inputs": [f"default/xray@{data}"], "code": code}
    return job.run_id, code, add_commit(db, ".outputs", kind=DatasetKind.OUTPUT, lineage=made)


def ask(client: httpx.Client, **asked: Any) -> Any:
    answer = client.get(GRAPH, params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def edges(graph: Any) -> set[tuple[str, str, str]]:
    return {(edge["source"], edge["target"], edge["role"]) for edge in graph["edges"]}


def node(graph: Any, key: str) -> Any:
    return next(one for one in graph["nodes"] if one["key"] == key)


def test_data_leads_to_results_and_results_lead_back(server: RunningServer, maria: httpx.Client) -> None:
    db = server.deps.db
    data = add_commit(db, "graph-data")
    run, code, output = a_result(db, data, "graph-train")
    report = add_commit(db, "reports", lineage={"inputs": [f"default/.outputs@{output}"]})

    down = ask(maria, commit=f"graph-data@{data}", direction="down")
    assert edges(down) == {
        (f"commit:{data}", f"run:{run}", "input"),
        (f"run:{run}", f"commit:{output}", "made"),
        (f"commit:{output}", f"commit:{report}", "input"),
    }
    assert [one["level"] for one in down["nodes"]] == [0, 1, 2, 3]
    assert node(down, f"run:{run}")["name"] == "graph-train"

    up = ask(maria, commit=f"reports@{report}", direction="up")
    assert (f"commit:{code}", f"run:{run}", "code") in edges(up)
    assert node(up, f"commit:{data}")["level"] == -3
    assert not any(one["more_up"] or one["more_down"] for one in up["nodes"])

    around = ask(maria, run=run)
    assert edges(around) == edges(up) | edges(down)
    assert around["root"] == f"run:{run}" == around["nodes"][0]["key"]
    assert ask(maria, job="graph-train")["root"] == f"run:{run}"


def test_what_is_left_out_is_marked(server: RunningServer, maria: httpx.Client) -> None:
    db = server.deps.db
    data = add_commit(db, "wide")
    for place in range(6):
        a_result(db, data, f"wide-{place}")
    wide = ask(maria, commit=f"wide@{data}", width=3, depth=1)
    root, *others = wide["nodes"]
    assert (len(others), root["more_down"], root["more_up"], wide["is_cut"]) == (3, True, False, False)
    assert all(one["more_down"] for one in others), "their outputs are a step further"
    assert [one["name"] for one in others] == ["wide-5", "wide-4", "wide-3"], "the newest first"
    small = ask(maria, commit=f"wide@{data}", limit=4)
    assert (len(small["nodes"]), small["is_cut"]) == (4, True)


def test_what_other_projects_do_with_a_commit_is_not_shown(server: RunningServer, maria: httpx.Client) -> None:
    db = server.deps.db
    server.user("boss", roles={"secret-team": Role.ADMIN})
    data = add_commit(db, "shared")
    add_commit(db, "hidden", project="secret-team", lineage={"inputs": [f"default/shared@{data}"]})
    add_job(db, project="secret-team", name="spy", inputs=(JobInput("default/shared", "main", data, "d", "X"),))
    seen = ask(maria, commit=f"shared@{data}", direction="down", depth=1)
    assert (len(seen["nodes"]), seen["edges"], seen["nodes"][0]["more_down"]) == (1, [], False)


def test_a_script_is_linked_to_what_it_read(server: RunningServer, maria: httpx.Client) -> None:
    data, foreign = add_commit(server.deps.db, "scripted"), "ab" * 32
    run = maria.post("/projects/default/runs", json={"name": "notebook"}).json()["id"]
    for digest in (data, foreign):
        told = {"name": "default/scripted", "digest": digest, "source_type": "millpond", "cached": True}
        body = {"writer": digest[:8], "sequence": 0, "inputs": [told]}
        assert maria.post(f"/projects/default/runs/{run}/batch", json=body).status_code == 204
    assert edges(ask(maria, run="notebook")) == {(f"commit:{data}", f"run:{run}", "input")}
    assert [one["digest"] for one in maria.get(f"/projects/default/runs/{run}").json()["inputs"]] == [data, foreign]


def test_loops_gone_ends_and_wrong_questions(server: RunningServer, maria: httpx.Client) -> None:
    db = server.deps.db
    one = add_commit(db, "loop")
    other = add_commit(db, "loop", lineage={"inputs": [f"default/loop@{one}", "cd" * 32]})
    with db.write() as tx:
        lineage.add(tx, [LineageEdge(other, one, LineageRole.INPUT, Maker("commit"))])
    graph = ask(maria, commit=f"loop@{one}", depth=20)
    assert {node["key"] for node in graph["nodes"]} == {f"commit:{one}", f"commit:{other}", f"commit:{'cd' * 32}"}
    assert node(graph, f"commit:{'cd' * 32}")["is_gone"]
    for wrong, status in (
        ({}, 422), ({"commit": "loop", "run": "x"}, 422), ({"commit": "nothing@main"}, 404), ({"run": "nothing"}, 404),
        ({"commit": "loop", "depth": 21}, 422), ({"commit": "loop:path"}, 400), ({"job": "none"}, 404),
    ):  # fmt: skip
        assert maria.get(GRAPH, params=wrong).status_code == status, wrong
