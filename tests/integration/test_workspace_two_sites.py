"""Workspaces of two sites with a real agent each: clones and mirrors at the other one, and the loss of a volume."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.test_two_sites import TwoSites
from tests.integration.test_workspace_disks import read_files

ALL = "/projects/default/workspaces"
FILES = {"übung/a": b"one", "run.sh": b"#!/bin/sh\n", "empty": b""}

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[TwoSites]:
    with running_server(tmp_path / "server") as server, ExitStack() as stack:
        yield TwoSites(tmp_path, server, stack)


def ready(sites: TwoSites, name: str) -> Path:
    """Its tree, once it is there."""

    def found() -> dict[str, Any] | None:
        one = sites.ask("GET", f"{ALL}/{name}")
        assert one["state"] != "failed", one["problem"]
        return one if one["state"] == "ready" else None

    return Path(wait_until(found, what=name, within=120)["path"])


def create(sites: TwoSites, name: str, **asked: Any) -> Path:
    sites.ask("POST", ALL, json={"name": name, "size_bytes": 10**8, **asked})
    return ready(sites, name)


def snapshot(sites: TwoSites, name: str) -> None:
    sites.ask("POST", f"{ALL}/base/snapshots", json={"name": name})

    def is_kept() -> bool:
        return all(one["state"] == "kept" for one in sites.ask("GET", f"{ALL}/base/snapshots")["items"])

    wait_until(is_kept, what=f"snapshot {name} kept", within=120)


def test_a_workspace_opens_at_another_site_and_survives_the_loss_of_its_volume(sites: TwoSites, tmp_path: Path) -> None:
    tree = create(sites, "base", volume="berlin")
    for name, content in FILES.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_bytes(content)
    (tree / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("run.sh")
    first = read_files(tree)
    snapshot(sites, "first")
    there = create(sites, "there", clone="base@first", volume="paris")
    assert there.is_relative_to(tmp_path / "paris") and read_files(there) == first
    assert (there / "run.sh").stat().st_mode & 0o777 == 0o755
    (tree / "later").write_bytes(b"later")
    now = read_files(tree)
    live = create(sites, "live", clone="base", volume="paris")
    assert read_files(live) == now, "as it is now, by a snapshot that is kept first"
    made = sites.ask("POST", "/projects/default/mirrors", json={"source": "workspace:base", "target": "site:paris"})
    mirrored = wait_until(
        lambda: (one := sites.ask("GET", f"/projects/default/mirrors/{made['id']}"))["state"] == "waiting" and one,
        what="the mirror",
        within=120,
    )
    assert (mirrored["problem"], mirrored["site"]) == (None, "paris")
    for path in (tmp_path / "berlin").iterdir():
        shutil.rmtree(path)
    again = create(sites, "again", clone="base@first", volume="paris")
    assert read_files(again) == first
    assert read_files(there) == first and read_files(live) == now
