"""`mill move` between a real bucket and a workspace, as a job that a real agent runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.client.connections import create_connection
from millpond.client.http import Api
from millpond.client.moving import move_request
from millpond.errors import BadRequest
from millpond.testing.seaweed import Seaweed
from millpond.testing.up import MillUp, mill_up
from millpond.wire.imports import ConnectionCreate
from tests.integration.cli import Mill
from tests.integration.outside import KEYS, Bucket

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[MillUp]:
    with mill_up(tmp_path_factory.mktemp("moves") / "data", "--import-hosts", "127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def api(up: MillUp) -> Iterator[Api]:
    known = json.loads((up.home / "credentials.json").read_text())["servers"]
    with Api(up.url, known[up.url]["token"]) as api:
        yield api


@pytest.fixture(scope="module")
def bucket(api: Api, seaweed: Seaweed) -> Bucket:
    made = Bucket(seaweed.endpoint, "moved-by-jobs").make()
    asked = {"name": "archive", "url": f"s3://{made.name}", "endpoint": made.endpoint, "credentials": KEYS}
    create_connection(api, "default", ConnectionCreate.model_validate({**asked, "writable": True}))
    return made


@pytest.fixture
def mill(up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(up, capfd, tmp_path)


def test_files_go_into_a_workspace_and_back(mill: Mill, bucket: Bucket) -> None:
    made = mill.ok("workspace", "create", "lab", "--size", "50MB", "--json").json
    for name in ("a", "b/c", "gone"):
        bucket.put(f"in/{name}", name.encode())
    there = f"s3://{bucket.name}/in"
    assert "3 files would be copied" in mill.ok("move", there, "lab:raw", "--dry-run").out
    assert not Path(made["path"], "raw").exists()
    assert "3 files copied" in mill.ok("move", there, "lab:raw").out
    raw = Path(made["path"], "raw")
    assert {name: (raw / name).read_text() for name in ("a", "b/c", "gone")} == {
        "a": "a", "b/c": "b/c", "gone": "gone",
    }  # fmt: skip
    (raw / "a").write_text("changed here")
    bucket.put("in/a", b"changed there")
    bucket.remove("in/gone")
    again = mill.ok("move", there, "lab:raw", "--delete").out
    assert "0 files copied (0 bytes), 1 unchanged, 1 removed, 1 conflicts" in again
    assert "conflict: a: changed here and in the bucket" in again
    back = f"s3://{bucket.name}/back"
    assert "2 files copied" in mill.ok("move", "lab:raw", back).out
    assert "0 files copied (0 bytes), 2 unchanged" in mill.ok("move", "lab:raw", back).out


def test_what_is_no_workspace_is_refused_before_a_job_is_made(mill: Mill, api: Api, bucket: Bucket) -> None:
    mill.ok("workspace", "create", "base", "--size", "10MB", "--json")
    mill.ok("workspace", "clone", "base", "fixed", "--read-only", "--json")
    there = f"s3://{bucket.name}/in"
    for target, words in (("nothing", "No workspace 'nothing'"), ("fixed", "is for reading only")):
        done = mill("move", there, target)
        assert done.code != 0 and words in done.err
    with pytest.raises(BadRequest, match="One end of a move is a bucket"):
        move_request(api, "default", "base", "lab:raw", connection=None, delete=False, dry_run=False)
    out = move_request(api, "default", "fixed:x", there, connection=None, delete=False, dry_run=False)
    assert out["command"][-2:] == ["--state", "$MILL_OUTPUT"], "notes cannot lie in it"
