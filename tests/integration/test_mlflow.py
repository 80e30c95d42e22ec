"""MLflow's API at /mlflow/PROJECT: judged by MLflow's own client, then by hand for what it does not do."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev import make_mlflow_docs

from millpond.api.mlflow.methods import METHODS
from millpond.api.mlflow.server import ENDPOINTS, is_offered
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.model.people import Role
from millpond.testing.server import SECRET, RunningServer, running_server

API = "/mlflow/default/api/2.0/mlflow"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = Path(tmp_path_factory.mktemp("server"))
    store = open_store((root / "lake").as_uri(), LocalSigner(SECRET))
    with running_server(root, store=store) as running:
        running.user("maria", roles={"default": Role.MEMBER})
        yield running


@pytest.fixture(scope="module")
def maria(server: RunningServer) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token_of('maria')}"}
    with httpx.Client(base_url=server.url, headers=headers) as client:
        yield client


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow-skinny is not installed")
def test_the_real_client(server: RunningServer, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "MLFLOW_TRACKING_URI": f"{server.url}/mlflow/default",
        "MLFLOW_TRACKING_TOKEN": server.token_of("maria"),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "SEEN": str(tmp_path / "seen.json"),
    }
    script = Path(__file__).parent / "mlflow_client.py"
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    run_id = seen.pop("id")
    assert f"/mlflow/default/#/experiments/2/runs/{run_id}" in done.stdout + done.stderr
    assert seen == {
        "changed param": "INVALID_PARAMETER_VALUE",
        "run": ["FINISHED", "one", {"kind": "x", "lr": "0.1", "p": "v"}, "# Why"],
        "metrics": {"b": "999.0", "inf": "inf", "loss": "0.2", "nan": "nan"},
        "history": [[step, 1 / (step + 1)] for step in range(5)],
        "long history": 1000,
        "no history": [],
        "files": [["d.json", False, 12], ["f.txt", False, 5], ["folder", True, None]],
        "below": ["folder/f.txt", "folder/sub"],
        "absent": [],
        "content": "deep",
        "found": ["one"],
        "children": ["child"],
        "pages": [["child"], ["one"]],
        "model": ["READY", {"c": "d"}, {"lr": "1"}, [["acc", 0.5]]],
        "outputs": [[True, 3]],
        "model files": [["weights.bin", False, 1]],
        "by name": ["net/weights.bin"],
        "deleted model": "RESOURCE_DOES_NOT_EXIST",
        "wrong filter": "INVALID_PARAMETER_VALUE",
        "no run": "RESOURCE_DOES_NOT_EXIST",
        "deleted": ["deleted", True],
        "log to deleted": "INVALID_STATE",
        "changed": ["KILLED", "renamed", False],
        "experiment": ["deleted", "Default"],
        "experiments": [["third", {"k": "v", "q": "w"}]],
        "taken": "RESOURCE_ALREADY_EXISTS",
        "traces": "NOT_IMPLEMENTED",
    }


def create(client: httpx.Client, **fields: Any) -> str:
    answer = client.post(f"{API}/runs/create", json={"experiment_id": "0", **fields})
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["run"]["info"]["run_id"]
    return found


def test_numbers_may_be_texts(maria: httpx.Client) -> None:
    run = create(maria, start_time="1763450000000")
    metric = {"run_id": run, "key": "m", "value": "NaN", "timestamp": "1763450000001", "step": "-9223372036854775808"}
    assert maria.post(f"{API}/runs/log-metric", json=metric).status_code == 200
    found = maria.get(f"{API}/runs/get", params={"run_id": run}).json()["run"]
    assert found["info"]["start_time"] == 1763450000000
    assert found["data"]["metrics"] == [
        {"key": "m", "value": "NaN", "timestamp": 1763450000001, "step": -(2**63)},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("runs/log-metric", {"key": "m", "value": "word", "timestamp": 1}),
        ("runs/log-metric", {"key": "m", "value": 1, "timestamp": 1, "step": 2**63}),
        ("runs/log-metric", {"value": 1}),
        ("runs/log-metric", {"key": "m"}),
        ("runs/log-metric", {"key": "m", "value": 1}),
        ("runs/log-metric", {"key": 3, "value": 1, "timestamp": 1}),
        ("runs/log-metric", {"run_id": 3, "key": "m", "value": 1, "timestamp": 1}),
        ("runs/log-batch", {"metrics": "x"}),
        ("runs/log-inputs", {"datasets": [{"dataset": {}}]}),
        ("runs/log-inputs", {"models": [{}]}),
        ("runs/set-tag", {"key": "k", "value": 3}),
        ("runs/search", {"experiment_ids": ["0"], "max_results": 10**6}),
        ("experiments/search-datasets", {"experiment_ids": []}),
        ("runs/log-batch", {"metrics": ["x"]}),
        ("runs/log-batch", {"params": [{"key": "p", "value": "1"}, {"key": "p", "value": "2"}]}),
        ("runs/log-parameter", {"value": "x"}),
        ("runs/update", {"status": "DONE"}),
        ("experiments/create", {"name": ""}),
        ("experiments/search", {"order_by": ["colour"]}),
        ("runs/search", {"experiment_ids": ["0"], "page_token": "nonsense"}),
    ],
)
def test_bad_input_is_answered_in_mlflows_shape(maria: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = maria.post(f"{API}/{path}", json={"run_id": create(maria), **body})
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE"), answer.text
    assert answer.json()["message"]


def test_a_batch_is_all_or_nothing(maria: httpx.Client) -> None:
    run = create(maria)
    maria.post(f"{API}/runs/log-parameter", json={"run_id": run, "key": "lr", "value": "1"})
    body = {
        "run_id": run,
        "metrics": [{"key": "m", "value": 1, "timestamp": 5}],
        "params": [{"key": "lr", "value": "2"}],
    }
    assert maria.post(f"{API}/runs/log-batch", json=body).status_code == 400
    data = maria.get(f"{API}/runs/get", params={"run_id": run}).json()["run"]["data"]
    assert (data["metrics"], data["params"]) == ([], [{"key": "lr", "value": "1"}])


def test_histories_of_several_runs(maria: httpx.Client) -> None:
    runs = sorted([create(maria), create(maria)])
    for run in runs:
        metrics = [{"key": "m", "value": step, "timestamp": 1, "step": step} for step in range(10)]
        assert maria.post(f"{API}/runs/log-batch", json={"run_id": run, "metrics": metrics}).status_code == 200

    def steps(path: str, **fields: Any) -> list[tuple[str, int]]:
        answer = maria.get(f"{API}/metrics/{path}", params={"metric_key": "m", **fields})
        assert answer.status_code == 200, answer.text
        return [(one["run_id"], one["step"]) for one in answer.json()["metrics"]]

    first = [(run, step) for run in runs for step in (0, 1)]
    assert steps("get-history-bulk", run_id=runs[::-1], max_results=2) == first
    spread = [(run, step) for run in runs for step in (0, 2, 4, 6, 9)]
    assert steps("get-history-bulk-interval", run_ids=runs, max_results=5) == spread
    assert steps("get-history-bulk-interval", run_ids=runs[:1], start_step=3, end_step=4) == [
        (runs[0], 3),
        (runs[0], 4),
    ]
    for wrong in ({}, {"run_ids": runs, "start_step": 1}, {"run_ids": runs, "start_step": 2, "end_step": 1}):
        answer = maria.get(f"{API}/metrics/get-history-bulk-interval", params={"metric_key": "m", **wrong})
        assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


def test_inputs_of_runs_are_found(maria: httpx.Client) -> None:
    number = maria.post(f"{API}/experiments/create", json={"name": "with inputs"}).json()["experiment_id"]
    run = create(maria, experiment_id=number)
    dataset = {"name": "x-ray", "digest": "d1", "source_type": "s3", "source": "s3://b"}
    tags = [{"key": "mlflow.data.context", "value": "training"}]
    body = {"run_id": run, "datasets": [{"dataset": dataset, "tags": tags}], "models": [{"model_id": "m-1"}]}
    assert maria.post(f"{API}/runs/log-inputs", json=body).status_code == 200
    maria.post(f"{API}/runs/set-tag", json={"run_id": run, "key": "mlflow.note.content", "value": "why"})
    (found,) = maria.post(f"{API}/runs/search", json={"experiment_ids": [number]}).json()["runs"]
    assert found["inputs"] == {
        "dataset_inputs": [{"dataset": dataset, "tags": tags}],
        "model_inputs": [{"model_id": "m-1"}],
    }
    assert {"key": "mlflow.note.content", "value": "why"} in found["data"]["tags"]
    summaries = maria.post(f"{API}/experiments/search-datasets", json={"experiment_ids": [number]}).json()
    assert summaries["dataset_summaries"] == [
        {"experiment_id": number, "name": "x-ray", "digest": "d1", "context": "training"}
    ]


def test_files_by_the_addresses_of_mlflows_page(maria: httpx.Client) -> None:
    run, base = create(maria), "/mlflow/default"
    sent = maria.post(
        f"{base}/ajax-api/2.0/mlflow/upload-artifact", params={"run_uuid": run, "path": "a.txt"}, content="a"
    )
    assert sent.status_code == 200, sent.text
    assert maria.get(f"{base}/get-artifact", params={"run_id": run, "path": "a.txt"}).text == "a"
    for path in ("../a.txt", "/etc/passwd", "a\0b"):
        answer = maria.get(f"{base}/get-artifact", params={"run_id": run, "path": path})
        assert answer.status_code == 400, path
    assert httpx.get(f"{maria.base_url}{base}/get-artifact", params={"run_id": run, "path": "a.txt"}).status_code == 401


def test_values_that_are_too_large_are_refused_and_nothing_is_lost(maria: httpx.Client) -> None:
    run = create(maria)
    for path, body in (
        ("runs/log-parameter", {"key": "p", "value": "x" * 10_000_000}),
        ("runs/set-tag", {"key": "t", "value": "x" * 10_000_000}),
        ("runs/log-batch", {"params": [{"key": "a", "value": "1"}, {"key": "b", "value": "x" * 10_000_000}]}),
    ):
        answer = maria.post(f"{API}/{path}", json={"run_id": run, **body})
        assert (answer.status_code, answer.json()["error_code"]) == (413, "INVALID_PARAMETER_VALUE"), answer.text[:200]
    data = maria.get(f"{API}/runs/get", params={"run_id": run}).json()["run"]["data"]
    assert (data["params"], data["metrics"]) == ([], [])


def test_clients_of_other_versions_are_answered(maria: httpx.Client) -> None:
    headers = {"User-Agent": "mlflow-python-client/1.30.0", "X-MLflow-Client-Version": "99.0"}
    assert maria.get(f"{API}/experiments/get", params={"experiment_id": "0"}, headers=headers).status_code == 200
    older = maria.get("/mlflow/default/api/2.0/preview/mlflow/experiments/get", params={"experiment_id": "0"})
    assert older.json()["experiment"]["name"] == "Default"


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff"])
def test_bodies_that_are_no_documents(maria: httpx.Client, body: bytes) -> None:
    assert maria.post(f"{API}/runs/create", content=body).status_code == 400


def test_artifacts_with_hostile_names(maria: httpx.Client) -> None:
    run = create(maria)
    store = "/mlflow/default/api/2.0/mlflow-artifacts/artifacts"
    assert maria.put(f"{store}/default/{run}/artifacts/a%20b/ü%23.txt", content=b"x").status_code == 200
    assert maria.get(f"{store}/default/{run}/artifacts/a%20b/ü%23.txt").content == b"x"
    for path in (f"default/{run}/artifacts/%2e%2e/x", f"other/{run}/artifacts/x", f"default/{run}/x", "x"):
        assert maria.put(f"{store}/{path}", content=b"x").status_code in (400, 404)


def test_who_may_call(server: RunningServer, maria: httpx.Client) -> None:
    run = create(maria)
    stranger, viewer = server.user("stranger", roles={}), server.user("viewer", roles={"default": Role.VIEWER})
    del stranger, viewer
    ask = f"{server.url}{API}/runs/get?run_id={run}"

    def status(**headers: str) -> tuple[int, str]:
        answer = httpx.get(ask, headers=headers)
        return answer.status_code, answer.json().get("error_code", "")

    def basic(user: str, token: str) -> str:
        return "Basic " + b64encode(f"{user}:{token}".encode()).decode()

    assert status() == (401, "UNAUTHENTICATED")
    assert status(Authorization="Basic ???") == (401, "UNAUTHENTICATED")
    assert status(Authorization=basic("maria", "wrong")) == (401, "UNAUTHENTICATED")
    assert status(Authorization=basic("maria", server.token_of("maria"))) == (200, "")
    assert status(Authorization=f"Bearer {server.token_of('stranger')}") == (404, "RESOURCE_DOES_NOT_EXIST")
    token = server.token_of("viewer")
    assert status(Authorization=f"Bearer {token}") == (200, "")
    body = {"run_id": run, "key": "m", "value": 1, "timestamp": 1}
    answer = httpx.post(f"{server.url}{API}/runs/log-metric", json=body, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["error_code"]) == (403, "PERMISSION_DENIED")


def test_what_needs_no_token(server: RunningServer) -> None:
    base = f"{server.url}/mlflow/default"
    assert httpx.get(f"{base}/version").text.startswith("3.")
    assert httpx.get(f"{base}/health").text == "OK"
    assert httpx.get(f"{base}/api/3.0/mlflow/server-info").json()["store_type"] == "SqlStore"
    assert "open.js" in httpx.get(f"{base}/").text
    assert "location.replace" in httpx.get(f"{base}/open.js").text


def test_every_method_of_the_protocol_is_answered(maria: httpx.Client) -> None:
    """Offered, or 501 in MLflow's shape; and nothing is offered that the protocol does not have."""
    known = {(one.method, one.path) for one in METHODS.all}
    own = {("GET", "mlflow/metrics/get-history-bulk")}  # of MLflow's page, not in its protocol
    assert ENDPOINTS.keys() - known <= own
    for one in METHODS.all:
        if is_offered(one):
            continue
        path = one.path.replace("{", "").replace("}", "").replace(":path", "")
        answer = maria.request(one.method, f"/mlflow/default/api/2.0/{path}")
        assert (answer.status_code, answer.json()["error_code"]) == (501, "NOT_IMPLEMENTED"), one
    assert maria.get(f"{API}/nothing/at-all").status_code == 404


def test_the_list_of_methods_is_current() -> None:
    assert make_mlflow_docs.TARGET.read_text() == make_mlflow_docs.written(), "run: make docs"
