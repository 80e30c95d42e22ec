"""A real server and a real agent, killed again and again: every verb on a workspace ends as it should, and nothing is
torn or left over."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.cache_site import CacheSite
from tests.integration.loop_disks import SIZES, loop_disk
from tests.integration.test_workspace_disks import read_files
from tests.integration.test_workspace_kill import content, write

ALL = "/projects/default/workspaces"


class Workspaces:
    """Workspaces of a site whose agent is killed while it works for them."""

    def __init__(self, site: CacheSite) -> None:
        self.site, self.client = site, site.server.admin
        self.chance = random.Random(time.time())

    def ask(self, method: str, path: str, **asked: Any) -> dict[str, Any]:
        answer = self.client.request(method, f"{ALL}{path}", json=asked or None)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    def tree(self, name: str) -> Path:
        return Path(self.ask("GET", f"/{name}")["path"])

    def snapshots(self, name: str) -> dict[str, str]:
        return {one["name"]: one["state"] for one in self.ask("GET", f"/{name}/snapshots")["items"]}

    def kill(self) -> None:
        """At any moment of what was just asked for."""
        time.sleep(self.chance.uniform(0.0, 0.4))
        self.site.end(self.site.processes["one"])
        self.site.start("one")

    def wait_ready(self, name: str) -> None:
        def state() -> str:
            found = self.ask("GET", f"/{name}")
            assert found["state"] != "failed", found["problem"]
            return str(found["state"])

        wait_until(lambda: state() == "ready", what=f"{name} ready", within=90)

    def wait_kept(self, name: str) -> None:
        wait_until(lambda: set(self.snapshots(name).values()) == {"kept"}, what="kept snapshots", within=90)


def kill_each_verb(kind: str, root: Path, rounds: int) -> None:
    with (
        loop_disk(kind, root, 2 * SIZES[kind]) as place,
        running_server(root / "data") as server,
        ExitStack() as stack,
    ):
        (place / "volume").mkdir()
        site = CacheSite(root, server, stack, ["one"], place / "volume")
        work = Workspaces(site)
        work.ask("POST", "", name="base", size_bytes=8 << 20)
        work.wait_ready("base")
        for number in range(rounds):
            write(work.tree("base"), number)
            work.ask("POST", "/base/snapshots", name=f"s{number}")
            work.kill()  # while it is taken, or kept
            work.wait_kept("base")
            work.ask("POST", "", name=f"clone{number}", clone=f"base@s{number}", size_bytes=8 << 20)
            work.kill()
            work.wait_ready(f"clone{number}")
            assert read_files(work.tree(f"clone{number}")) == content(number)
            write(work.tree("base"), number + 1000)
            work.ask("POST", "/base/restore", snapshot=f"s{number}")
            work.kill()
            work.wait_ready("base")
            assert read_files(work.tree("base")) == content(number)
            work.wait_kept("base")
        for path in (place / "volume" / "workspaces").iterdir():
            wait_until(
                lambda path=path: not [one for one in path.iterdir() if one.name.startswith((".making", ".removing"))],
                what="tidiness",
                within=30,
            )


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["xfs", "btrfs", "ext4"])
def test_each_verb_survives_many_kills_of_the_agent(kind: str, tmp_path: Path) -> None:
    kill_each_verb(kind, tmp_path, 6)
