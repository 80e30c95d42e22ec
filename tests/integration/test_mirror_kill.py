"""A real server, killed while a mirror runs: the next start goes on, and nothing is torn or sent twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import urllib3

from millpond.client.connections import create_connection
from millpond.client.http import Api
from millpond.client.mirrors import create_mirror, get_mirror
from millpond.testing.seaweed import Seaweed
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from millpond.wire.imports import ConnectionCreate
from millpond.wire.mirrors import Mirror, MirrorCreate
from tests.integration.cli import Mill
from tests.integration.outside import KEYS, Bucket

FILES = {f"{number:04d}": f"content {number}".encode() for number in range(1500)}


def api_of(up: MillUp) -> Api:
    known = json.loads((up.home / "credentials.json").read_text())["servers"]
    return Api(up.url, next(iter(known.values()))["token"])


def shown(up: MillUp) -> Mirror:
    with api_of(up) as api:
        return get_mirror(api, "default", "many")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_killed_server_goes_on_where_it_was(
    seaweed: Seaweed, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bucket = Bucket(seaweed.endpoint, "killed-mirror").make()
    options = ("--import-hosts", "127.0.0.1")
    with mill_up(tmp_path / "data", *options) as up:
        tree = tmp_path / "many"
        tree.mkdir()
        for name, content in FILES.items():
            (tree / name).write_bytes(content)
        mill = Mill(up, capfd, tree)
        mill.ok("data", "init", "many")
        mill.ok("data", "sync")
        asked: dict[str, Any] = {"name": "archive", "url": f"s3://{bucket.name}", "endpoint": bucket.endpoint}
        with api_of(up) as api:
            create_connection(
                api, "default", ConnectionCreate.model_validate({**asked, "credentials": KEYS, "writable": True})
            )  # fmt: skip
            create_mirror(api, "default", MirrorCreate(source="many", target=f"s3://{bucket.name}/many"))
        # Asked of the bucket: the server tells its progress so seldom that a fast run may be over before.
        first = f"{bucket.endpoint}/{bucket.name}/many/{next(iter(FILES))}"
        wait_until(lambda: urllib3.request("GET", first).status == 200, what="a first object", within=120)
        up.process.kill()
        up.process.wait()
    home = tmp_path / "data-home"
    with mill_up(tmp_path / "data", *options, home=home) as up:
        # The claim of the server that was killed must be over first.
        done = wait_until(lambda: (one := shown(up)).state == "waiting" and one, what="the end", within=400)
        assert isinstance(done, Mirror) and done.result is not None
        assert (done.problem, done.failures, done.result.conflict_count) == (None, 0, 0)
        assert done.result.copied + done.result.unchanged == len(FILES) and done.result.unchanged > 0
    for name, content in FILES.items():
        assert urllib3.request("GET", f"{bucket.endpoint}/{bucket.name}/many/{name}").data == content
