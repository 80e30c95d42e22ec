"""Artifacts through MLflow's API: in parts, by ranges, removed, and with names that nobody should use."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.model.people import Role
from millpond.services.runs import part_uploads
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import SECRET, RunningServer, running_server

BASE = "/mlflow/default/api/2.0"
STORE = f"{BASE}/mlflow-artifacts/artifacts"


@pytest.fixture(scope="module", params=["directory", pytest.param("seaweed", marks=pytest.mark.long)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = Path(tmp_path_factory.mktemp("server"))
    if request.param == "directory":
        store = open_store((root / "lake").as_uri(), LocalSigner(SECRET))
    else:
        seaweed: Seaweed = request.getfixturevalue("seaweed")
        store = open_store(seaweed.url(root.name), environment=CREDENTIALS)
    with running_server(root, store=store) as running:
        running.user("maria", roles={"default": Role.MEMBER})
        running.user("otto", roles={"default": Role.MEMBER})
        yield running


@pytest.fixture(scope="module")
def maria(server: RunningServer) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token_of('maria')}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def run(maria: httpx.Client) -> str:
    answer = maria.post(f"{BASE}/mlflow/runs/create", json={"experiment_id": "0"})
    found: str = answer.json()["run"]["info"]["run_id"]
    return found


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow-skinny is not installed")
def test_the_real_client_sends_and_fetches_in_parts(server: RunningServer, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "MLFLOW_TRACKING_URI": f"{server.url}/mlflow/default",
        "MLFLOW_TRACKING_TOKEN": server.token_of("maria"),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD": "true",
        "MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD": "true",
        "MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE": "1000",
        "MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE": "600000",
        "MLFLOW_MULTIPART_DOWNLOAD_CHUNK_SIZE": "700000",
        "SEEN": str(tmp_path / "seen.json"),
    }
    script = Path(__file__).parent / "mlflow_artifacts_client.py"
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Falling back" not in done.stderr
    assert json.loads((tmp_path / "seen.json").read_text()) == {
        "listed": [["deep", None], ["large 1.bin", 5_000_000]],
        "same": True,
        "left": ["large 1.bin"],
    }
    assert {one.key.rpartition("/")[2] for one in server.deps.store.list("parts/")} == {"done"}


def begin(client: httpx.Client, run: str, parts: int = 2, path: str = "/home/maria/net.bin") -> Any:
    body = {"path": path, "num_parts": parts}
    answer = client.post(f"{BASE}/mlflow-artifacts/mpu/create/default/{run}/artifacts/folder", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def end(client: httpx.Client, run: str, upload_id: str, numbers: list[Any], what: str = "complete") -> httpx.Response:
    body = {"path": "net.bin", "upload_id": upload_id, "parts": [{"part_number": number} for number in numbers]}
    return client.post(f"{BASE}/mlflow-artifacts/mpu/{what}/default/{run}/artifacts/folder", json=body)


def send(upload: Any, number: int, content: bytes) -> None:
    (part,) = [one for one in upload["credentials"] if one["part_number"] == number]
    assert httpx.put(part["url"], content=content, headers=part["headers"]).status_code in (200, 201)


def test_parts_in_any_order_become_one_file_once(maria: httpx.Client, run: str) -> None:
    upload = begin(maria, run)
    send(upload, 2, b"world")
    lacking = end(maria, run, upload["upload_id"], [1, 2])
    assert (lacking.status_code, lacking.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    assert "have not come: 1" in lacking.json()["message"]
    send(upload, 1, b"hello ")
    for _ in range(2):  # as a client does whose answer was lost
        assert end(maria, run, upload["upload_id"], [2, 1]).status_code == 200
    place = f"{STORE}/default/{run}/artifacts/folder/net.bin"
    assert maria.get(place).content == b"hello world"
    assert maria.get(place, headers={"Range": "bytes=6-8"}).content == b"wor"
    signed = maria.get(f"{BASE}/mlflow-artifacts/presigned/default/{run}/artifacts/folder/net.bin").json()
    assert signed["file_size"] == 11
    assert httpx.get(signed["url"], headers={**signed["headers"], "Range": "bytes=0-4"}).content == b"hello"


def test_an_upload_that_is_aborted_or_forgotten_leaves_nothing(
    maria: httpx.Client, server: RunningServer, run: str
) -> None:
    def keys(upload: Any) -> list[str]:
        return [one.key for one in server.deps.store.list(f"parts/{upload['upload_id']}/")]

    aborted, forgotten = begin(maria, run), begin(maria, run)
    send(aborted, 1, b"x")
    send(forgotten, 1, b"x")
    assert end(maria, run, aborted["upload_id"], [], "abort").status_code == 200
    assert end(maria, run, aborted["upload_id"], [1]).json()["error_code"] == "RESOURCE_DOES_NOT_EXIST"
    now = datetime.now(UTC)
    part_uploads.forget_old(server.deps, now)
    assert (keys(aborted), len(keys(forgotten))) == ([], 1)
    part_uploads.forget_old(server.deps, now + part_uploads.KEPT + timedelta(minutes=1))
    assert keys(forgotten) == []


@pytest.mark.parametrize(
    ("upload_id", "numbers", "status"),
    [("../" * 10, [1], 404), ("x" * 42, [1], 404), ("", [1], 400), ("0" * 42, ["x"], 400), ("0" * 42, [None], 400)],
)
def test_uploads_that_are_none(maria: httpx.Client, run: str, upload_id: str, numbers: list[Any], status: int) -> None:
    assert end(maria, run, upload_id, numbers).status_code == status


@pytest.mark.parametrize(("parts", "path"), [(0, "a"), (10_001, "a"), (1, ".."), (1, "a\nb"), (1, "x" * 1001), (1, "")])
def test_uploads_that_cannot_begin(maria: httpx.Client, run: str, parts: int, path: str) -> None:
    body = {"path": path, "num_parts": parts}
    answer = maria.post(f"{BASE}/mlflow-artifacts/mpu/create/default/{run}/artifacts", json=body)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE"), answer.text


def test_removing_artifacts(maria: httpx.Client, run: str) -> None:
    root = f"{STORE}/default/{run}/artifacts"
    assert maria.delete(f"{root}/nothing").status_code == 404
    for name in ("a.txt", "b/c.txt", "b/d/e.txt", "b.txt"):
        assert maria.put(f"{root}/{name}", content=name.encode()).status_code == 200
    assert maria.delete(f"{root}/nothing").status_code == 404
    assert maria.delete(f"{root}/a.txt").status_code == 200
    assert maria.delete(f"{root}/b").status_code == 200
    assert maria.get(f"{root}/b/c.txt").status_code == 404
    listed = maria.get(STORE, params={"path": f"default/{run}/artifacts"}).json()["files"]
    assert [one["path"] for one in listed] == ["b.txt"]
    assert maria.delete(root).status_code == 200
    assert maria.get(STORE, params={"path": f"default/{run}/artifacts"}).json()["files"] == []
    assert maria.put(f"{root}/a.txt", content=b"again").status_code == 200
    assert maria.get(f"{root}/a.txt").content == b"again"


@pytest.mark.parametrize(
    "name",
    ["%2e%2e/x", "a/%2e%2e/%2e%2e/x", "a%00b", "a%0ab", "a%5cb", "x" * 1001, "a//b", "a/%2e/b"],
)
def test_hostile_names_are_refused(maria: httpx.Client, run: str, name: str) -> None:
    answer = maria.put(f"{STORE}/default/{run}/artifacts/{name}", content=b"x")
    assert answer.status_code in (400, 404), answer.text
    assert maria.get(STORE, params={"path": f"default/{run}/artifacts"}).json()["files"] == []
