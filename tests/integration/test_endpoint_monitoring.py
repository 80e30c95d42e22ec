"""Labels, quality and drift from a request log as the server commits it, by the command line and the SDK."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import millpond
from millpond.errors import BadRequest
from millpond.services.endpoints.request_rows import file_of, rows_of
from tests.integration.cli import Mill, ServerHere, server_here

REQUESTS = 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    root = tmp_path_factory.mktemp("monitoring")
    with server_here(root) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Mill:
    return Mill(server, capfd, tmp_path)


@pytest.fixture
def name(mill: Mill, tmp_path: Path) -> str:
    """A model, its endpoint, and a log of 200 requests; version 1 is right about each class, version 2 never."""
    name = f"m-{tmp_path.name.replace('_', '-')[-24:].strip('-')}".lower()
    (tmp_path / "model/1").mkdir(parents=True)
    (tmp_path / "model/1/model.py").write_text("class Model: ...")
    mill.ok("model", "register", name, "--from", "./model")
    mill.ok("site", "add", name)
    asked = {
        "schema": "millpond.endpoint/1", "name": name, "versions": [{"model": f"{name}@1", "weight": 100}],
        "sites": {name: {"min": 1, "max": 1}}, "log": {"level": "full", "to": f"{name}-log@main"},
    }  # fmt: skip
    (tmp_path / "endpoint.yaml").write_text(json.dumps(asked))
    mill.ok("endpoint", "create", "-f", "endpoint.yaml", "--unchecked")
    folder = tmp_path / "log"
    folder.mkdir()
    mill.ok("data", "init", f"{name}-log", cwd=folder)
    path, content = file_of(rows_of(_lines(name)), "0" * 32)
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_bytes(content)
    mill.ok("data", "sync", cwd=folder)
    return name


def _lines(name: str, ages: float = 40.0) -> bytes:
    chance, now = random.Random(1), time.time() - 60
    return b"\n".join(
        json.dumps(_row(name, number, now, [chance.gauss(ages, 10), chance.gauss(170, 10)])).encode()
        for number in range(REQUESTS)
    )


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(name).splitlines()]


def _row(name: str, number: int, now: float, features: list[float]) -> dict[str, Any]:
    version, truth = 1 + number % 2, number % 3
    chosen = truth if version == 1 else (truth + 1) % 3
    scores = [0.8 if place == chosen else 0.1 for place in range(3)]
    return {
        "id": f"r{number}", "time": now, "endpoint": name, "model": name, "version": version, "status": 200, "ms": 1.5,
        "request": {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": features}]},
        "response": {"outputs": [{"name": "y", "shape": [1, 3], "datatype": "FP64", "data": scores}]},
    }  # fmt: skip


def _reference(mill: Mill, folder: Path, name: str, ages: float) -> str:
    chance = random.Random(2)
    folder.mkdir()
    table = {"age": [chance.gauss(ages, 10) for _ in range(500)], "height": [chance.gauss(170, 10) for _ in range(500)]}
    pq.write_table(pa.table(table), folder / "train.parquet")
    mill.ok("data", "init", name, cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    return f"{name}@main"


def test_labels_are_joined_by_request_and_the_newest_counts(mill: Mill, name: str, tmp_path: Path) -> None:
    wrong = "request_id,label\nr0,2\n"
    right = "request_id,label,by\n" + "".join(f"r{number},{number % 3},maria\n" for number in range(100))
    for text, count in ((wrong, 1), (right, 100)):
        (tmp_path / "labels.csv").write_text(text)
        assert mill.ok("endpoint", "labels", name, "labels.csv", "--json").json["labels"] == count
    first, second = mill.ok("endpoint", "quality", name, "--json").json["items"]
    assert (first["version"], first["requests"], first["labelled"], first["accuracy"]) == (f"{name}@1", 100, 50, 1.0)
    assert (second["version"], second["accuracy"], second["mean_error"]) == (f"{name}@2", 0.0, None)
    mill.ok("data", "clone", f"{name}-log", "clone")
    files = sorted((tmp_path / "clone/labels").rglob("*.parquet"))
    assert [pq.read_table(file).num_rows for file in files] == [1, 100]
    assert pq.read_table(files[1]).column_names == ["request_id", "label", "by"]


def test_a_table_without_ids_or_labels_is_refused_whole(mill: Mill, name: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,label\nr0,2\n")
    refused = mill("endpoint", "labels", name, "labels.csv")
    assert refused.code != 0 and "no column 'request_id'; it has id, label" in refused.err
    (tmp_path / "labels.csv").write_text("request_id,label\nr0,2\n,1\n")
    assert "Row 2" in mill("endpoint", "labels", name, "labels.csv").err
    assert mill("endpoint", "labels", name, "missing.csv").code != 0
    assert [one["labelled"] for one in mill.ok("endpoint", "quality", name, "--json").json["items"]] == [0, 0]


def test_drift_is_found_where_it_is_and_kept_as_a_run(mill: Mill, name: str, tmp_path: Path) -> None:
    reference = _reference(mill, tmp_path / "train", f"{name}-train", ages=60.0)
    found = mill.ok("endpoint", "drift", name, "--reference", reference, "--json").json
    by_column = {one["column"]: one["level"] for one in found["columns"]}
    assert by_column == {"inputs.x[0]": "much", "inputs.x[1]": "none"} and found["level"] == "much"
    assert found["unmatched"] == ["outputs.y.argmax", "outputs.y[0]", "outputs.y[1]", "outputs.y[2]"]
    assert (found["requests"], found["requests_of"]) == (REQUESTS, REQUESTS)
    run = mill.ok("run", "show", found["run"], "--json").json
    assert run["experiment"] == f"drift-{name}" and run["state"] == "succeeded"
    assert run["tags"]["drift"] == "much" and run["metrics"]["psi/inputs.x[0]"] == found["columns"][0]["psi"]
    assert {one["name"] for one in run["inputs"]} == {f"default/{name}-log", f"default/{name}-train"}


def test_a_log_is_a_reference_and_a_sample_says_so(mill: Mill, name: str) -> None:
    ask = ("endpoint", "drift", name, "--reference", f"{name}-log@main:requests/", "--rows", "100")
    found = mill.ok(*ask, "--json").json
    assert found["level"] == "none" and not found["unmatched"]
    assert (found["requests"], found["requests_of"]) == (100, REQUESTS)
    assert "100 of 200 requests" in mill.ok(*ask).err
    one = mill.ok("endpoint", "drift", name, "--reference", f"{name}-log@main:requests/", "--version", "2", "--json")
    assert one.json["requests_of"] == REQUESTS // 2
    answers = {each["column"]: each["level"] for each in one.json["columns"]}
    assert answers["inputs.x[0]"] == "none"


def test_what_does_not_fit_is_said(mill: Mill, name: str, tmp_path: Path) -> None:
    reference = _reference(mill, tmp_path / "train", f"{name}-train", ages=40.0)
    for more, said in (
        (("--reference", reference, "--columns", "age,weight"), "no column 'weight'"),
        (("--reference", reference, "--columns", "age"), "1 columns do not make up"),
        (("--reference", f"{reference}:nothing"), "has no tables at nothing"),
        (("--reference", reference, "--version", "7"), "were logged in this time"),
    ):
        refused = mill("endpoint", "drift", name, *more)
        assert refused.code != 0 and said in refused.err
    swapped = mill.ok("endpoint", "drift", name, "--reference", reference, "--columns", "height,age", "--json").json
    assert {one["level"] for one in swapped["columns"]} == {"much"}


def test_the_library_does_the_same(mill: Mill, server: ServerHere, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILL_HOME", str(server.home))
    endpoint = millpond.Endpoint(name, server=server.url, project="default")
    assert [one.labelled for one in endpoint.quality()] == [0, 0]
    assert endpoint.drift(f"{name}-log@main:requests/").level.value == "none"


def test_logged_requests_are_asked_again_and_answers_compared(
    mill: Mill, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The router is played; tests/integration/test_request_logs.py has a real one."""
    truths = {tuple(row["request"]["inputs"][0]["data"]): number % 3 for number, row in enumerate(_rows(name))}

    async def answer(request: Request, *_: Any) -> Response:
        (tensor,) = json.loads(await request.body())["inputs"]
        truth = truths[tuple(tensor["data"])]
        if truth == 2:
            raise BadRequest("The model has no opinion.")
        scores = [0.7 if place == truth else 0.15 for place in range(3)]
        return JSONResponse({"outputs": [{"name": "y", "datatype": "FP64", "shape": [1, 3], "data": scores}]})

    monkeypatch.setattr("millpond.api.routes.endpoint_use._passed_on", answer)
    ask = ("endpoint", "replay", name, "--on", name, "--json")
    right = mill.ok(*ask, "--version", "1").json
    failed = sum(number % 3 == 2 for number in range(0, REQUESTS, 2))
    assert (right["requests"], right["failed"], right["failure"]) == (100, failed, "The model has no opinion.")
    assert right["agreement"] == 1.0 and right["largest_difference"] == pytest.approx(0.1)
    assert mill.ok(*ask, "--version", "2", "--limit", "10").json["agreement"] == 0.0
    run = mill.ok("run", "show", right["run"], "--json").json
    assert run["experiment"] == f"replay-{name}" and run["metrics"]["agreement"] == 1.0
    assert [one["name"] for one in run["inputs"]] == [f"default/{name}-log"]
