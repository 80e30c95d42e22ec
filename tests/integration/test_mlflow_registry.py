"""MLflow's model registry at /mlflow/PROJECT: judged by MLflow's own client, then by hand for what it does not do."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.model.people import Role
from millpond.testing.server import SECRET, RunningServer, running_server

API = "/mlflow/default/api/2.0/mlflow"
STORE = "/mlflow/default/api/2.0/mlflow-artifacts/artifacts"


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
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        yield client


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow-skinny is not installed")
def test_the_real_client_registers_and_loads(server: RunningServer, tmp_path: Path) -> None:
    made = real_client(server, tmp_path, "make")
    assert made == {
        "model": ["adds numbers", {"team": "vision"}, {"champion": "2"}, ["2", "3"]],
        "versions": [
            ["1", [], "None", "the first", {}, True],
            ["2", ["champion"], "None", "", {"from": "run"}, True],
            ["3", [], "Production", "", {}, True],
        ],
        "of run": 3,
        "by tag": ["2"],
        "by name": ["sum #1"],
        "refused": {
            "taken": "RESOURCE_ALREADY_EXISTS",
            "no model": "RESOURCE_DOES_NOT_EXIST",
            "no version": "RESOURCE_DOES_NOT_EXIST",
            "no number": "INVALID_PARAMETER_VALUE",
            "no alias": "INVALID_PARAMETER_VALUE",
            "no logged model": "RESOURCE_DOES_NOT_EXIST",
            "no stage": "INVALID_PARAMETER_VALUE",
            "local path": "INVALID_PARAMETER_VALUE",
            "filter": "INVALID_PARAMETER_VALUE",
            "order": "INVALID_PARAMETER_VALUE",
            "prompt": "NOT_IMPLEMENTED",
            "deleted": "RESOURCE_DOES_NOT_EXIST",
        },
        "copied": ["1", "models:/sum #1/2"],
    }
    assert real_client(server, tmp_path, "load") == dict.fromkeys(
        ("sum #1@champion", "sum #1/1", "sum #1/Production", "sum #1/latest", "other/1"), 3.0
    )


def real_client(server: RunningServer, folder: Path, what: str) -> Any:
    environment = {
        **os.environ,
        "MLFLOW_TRACKING_URI": f"{server.url}/mlflow/default",
        "MLFLOW_TRACKING_TOKEN": server.token_of("maria"),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "SEEN": str(folder / "seen.json"),
    }
    script = Path(__file__).parent / "mlflow_registry_client.py"
    done = subprocess.run([sys.executable, script, what], env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "seen.json").read_text())


def call(client: httpx.Client, method: str, path: str, **fields: Any) -> Any:
    sent: dict[str, Any] = {"params": fields} if method == "GET" else {"json": fields}
    answer = client.request(method, f"{API}/{path}", **sent)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: httpx.Client, method: str, path: str, **fields: Any) -> tuple[int, str, str]:
    sent: dict[str, Any] = {"params": fields} if method == "GET" else {"json": fields}
    answer = client.request(method, f"{API}/{path}", **sent)
    return answer.status_code, answer.json()["error_code"], answer.json()["message"]


def test_clients_that_register_at_once_get_a_version_each(maria: httpx.Client) -> None:
    call(maria, "POST", "registered-models/create", name="busy")
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(
                lambda n: call(maria, "POST", "model-versions/create", name="busy", source=f"s3://b/{n}"), range(8)
            )
        )
    versions = {one["model_version"]["version"]: one["model_version"]["source"] for one in made}
    assert sorted(versions, key=int) == [str(number) for number in range(1, 9)]
    assert sorted(versions.values()) == [f"s3://b/{n}" for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda _: maria.post(f"{API}/registered-models/create", json={"name": "once"}), range(4))
        )
    codes = sorted(one.json().get("error_code", "") for one in answers)
    assert codes == ["", *["RESOURCE_ALREADY_EXISTS"] * 3]


def test_a_wrong_filter_names_the_word(maria: httpx.Client) -> None:
    status, code, message = refused(maria, "GET", "model-versions/search", filter="name = 'x' and versoin_number > 1")
    assert (status, code) == (400, "INVALID_PARAMETER_VALUE")
    assert "'versoin_number', character 16" in message
    assert "version_number" in message
    for wrong in ("name", "name = x", "name > 'x'", "metrics.a > 1", "version_number = 'x'", "name = 'x' or", "("):
        assert refused(maria, "GET", "model-versions/search", filter=wrong)[:2] == (400, "INVALID_PARAMETER_VALUE")
    for field in ({"max_results": 0}, {"max_results": 10**9}, {"page_token": "x"}, {"order_by": "name sideways"}):
        found = refused(maria, "GET", "registered-models/search", **field)
        assert found[:2] == (400, "INVALID_PARAMETER_VALUE"), field


@pytest.mark.parametrize(
    "source",
    ["/etc/passwd", "file:///etc/passwd", "", "s3://b/../c", "s3://b/%2e%2e/c",
     "mlflow-artifacts:/default/x/artifacts/m", "models:/", "models:/nothing", "s3://" + "x" * 5000, "s3://a\nb"],
)  # fmt: skip
def test_sources_that_cannot_be_registered(maria: httpx.Client, source: str) -> None:
    call(maria, "POST", "registered-models/create", name=f"m{abs(hash(source))}")
    status, code, _ = refused(maria, "POST", "model-versions/create", name=f"m{abs(hash(source))}", source=source)
    assert (status, code) in ((400, "INVALID_PARAMETER_VALUE"), (404, "RESOURCE_DOES_NOT_EXIST"))
    assert call(maria, "GET", "model-versions/search", filter=f"name = 'm{abs(hash(source))}'")["model_versions"] == []


def test_the_files_of_a_version_are_its_own_and_do_not_change(maria: httpx.Client, server: RunningServer) -> None:
    run = call(maria, "POST", "runs/create", experiment_id="0")["run"]["info"]["run_id"]
    maria.put(f"{STORE}/default/{run}/artifacts/net/weights.bin", content=b"one")
    call(maria, "POST", "registered-models/create", name="net")
    uri = f"mlflow-artifacts:/default/{run}/artifacts/net"
    call(maria, "POST", "model-versions/create", name="net", source=uri, run_id=run)
    maria.put(f"{STORE}/default/{run}/artifacts/net/weights.bin", content=b"two")
    found = call(maria, "GET", "model-versions/get-download-uri", name="net", version="1")["artifact_uri"]
    place = found.removeprefix("mlflow-artifacts:/")
    assert maria.get(f"{STORE}/{place}/weights.bin").content == b"one"
    listed = maria.get(STORE, params={"path": place}).json()["files"]
    assert listed == [{"path": "weights.bin", "is_dir": False, "file_size": 3}]
    put = maria.put(f"{STORE}/{place}/weights.bin", content=b"three")
    assert (put.status_code, put.json()["error_code"]) == (403, "PERMISSION_DENIED")
    call(maria, "DELETE", "model-versions/delete", name="net", version="1")
    assert maria.get(f"{STORE}/{place}/weights.bin").status_code == 404
    server.user("viewer", roles={"default": Role.VIEWER})
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token_of('viewer')}"}) as viewer:
        assert call(viewer, "GET", "registered-models/get", name="net")["registered_model"]["name"] == "net"
        assert refused(viewer, "POST", "registered-models/create", name="x")[1] == "PERMISSION_DENIED"
