"""A real server, killed again and again while its agent snapshots, clones and restores: every verb ends as it should,
and nothing is torn or left over."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.loop_disks import SIZES, loop_disk
from tests.integration.test_workspace_disks import read_files
from tests.integration.test_workspace_kill import content, write

ALL = "/projects/default/workspaces"
ROUNDS = 2


def ask(up: MillUp, method: str, path: str, **asked: Any) -> dict[str, Any]:
    with up.client() as client:
        answer = client.request(method, f"{ALL}{path}", json=asked or None)
    assert answer.is_success, answer.text
    return dict(answer.json())


def wait_ready(up: MillUp, name: str) -> Path:
    """Where its tree is, once it is ready."""

    def found() -> dict[str, Any] | None:
        one = ask(up, "GET", f"/{name}")
        assert one["state"] != "failed", one["problem"]
        return one if one["state"] == "ready" else None

    return Path(wait_until(found, what=f"{name} ready", within=120)["path"])


def wait_kept(up: MillUp) -> None:
    wait_until(
        lambda: {one["state"] for one in ask(up, "GET", "/base/snapshots")["items"]} == {"kept"},
        what="kept snapshots",
        within=120,
    )


class Killed:
    """A server that is killed at any moment of what it was just asked for, and started again."""

    def __init__(self, root: Path) -> None:
        self._data, self._chance = root / "data", random.Random(time.time())

    def during(self, verb: Callable[[MillUp], Any], then: Callable[[MillUp], Any]) -> None:
        with self._up() as up:
            verb(up)
            time.sleep(self._chance.uniform(0.0, 0.5))
            up.kill()
        with self._up() as up:
            then(up)

    def _up(self) -> Any:
        return mill_up(self._data, home=self._data.with_name("home"))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["xfs", "btrfs", "ext4"])
def test_each_verb_survives_kills_of_the_server(kind: str, tmp_path: Path) -> None:
    with loop_disk(kind, tmp_path, 2 * SIZES[kind]) as place:
        volume = place / "volume"
        volume.mkdir()
        killed = Killed(tmp_path)

        def begin(up: MillUp) -> None:
            with up.client() as client:
                assert client.post("/volumes", json={"name": "loop", "path": str(volume), "site": "local"}).is_success
                seen = lambda: client.get("/volumes/loop").json()["capacity_bytes"] > 0  # noqa: E731
                wait_until(seen, what="the volume's first look", within=60)
            ask(up, "POST", "", name="base", size_bytes=8 << 20, volume="loop")

        killed.during(begin, lambda up: wait_ready(up, "base"))
        for number in range(ROUNDS):

            def snapshot(up: MillUp, number: int = number) -> None:
                write(wait_ready(up, "base"), number)
                ask(up, "POST", "/base/snapshots", name=f"s{number}")

            def clone(up: MillUp, number: int = number) -> None:
                ask(up, "POST", "", name=f"clone{number}", clone=f"base@s{number}", size_bytes=8 << 20)

            def check_clone(up: MillUp, number: int = number) -> None:
                assert read_files(wait_ready(up, f"clone{number}")) == content(number)

            def restore(up: MillUp, number: int = number) -> None:
                write(wait_ready(up, "base"), number + 1000)
                ask(up, "POST", "/base/restore", snapshot=f"s{number}")

            def check_restored(up: MillUp, number: int = number) -> None:
                assert read_files(wait_ready(up, "base")) == content(number)
                wait_kept(up)

            killed.during(snapshot, wait_kept)
            killed.during(clone, check_clone)
            killed.during(restore, check_restored)
        for project in (volume / "workspaces").iterdir():
            left = [one.name for one in project.iterdir() if one.name.startswith((".making", ".removing"))]
            assert left == []
