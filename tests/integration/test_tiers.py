"""Tiers of volumes: set by administrators, kept to by the kernel for running jobs, or by a plug-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import harmonic_mean
from typing import Any

import pytest

from millpond.agent.drivers import Exited
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.isolation import detect
from millpond.agent.isolation.io_group import IoGroup
from millpond.agent.keeper.clock import boot_time
from millpond.agent.prepare import prepare
from millpond.agent.tiers import Tiers
from millpond.services.places import tiers as tier_service
from millpond.testing.agents import a_placement
from millpond.testing.builders_data import a_volume, an_agent
from millpond.testing.drivers import finished
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until
from millpond.volumes.block_devices import block_devices
from tests.integration.cache_site import CacheSite

# Placements of one name share their control groups.
pytestmark = pytest.mark.xdist_group("keepers")

MB = 1_000_000
READER = Path(__file__).parent / "uncached_reader.py"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system on a loop device, with a file of 32 MB."""
    lacking = [tool for tool in ("mkfs.ext4", "mount", "umount") if shutil.which(tool) is None]
    if os.geteuid() != 0 or lacking:
        pytest.skip(f"needs root and {', '.join(lacking) or 'mounts'}")
    image, path = tmp_path / "disk.img", tmp_path / "disk"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(96 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], check=True, capture_output=True)
    mounted = subprocess.run(["mount", "-o", "loop", image, path], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip(f"this machine mounts no loop devices: {mounted.stderr.decode(errors='replace').strip()}")
    (path / "volume").mkdir()
    (path / "file").write_bytes(os.urandom(32 * MB))
    subprocess.run(["sync", "-f", path], check=True)
    yield path
    subprocess.run(["umount", "-l", path], check=True, capture_output=True)


@dataclass
class Reading:
    """A job that reads the file again and again, uncached, and tells after each part how fast that was."""

    directory: Path
    driver: ProcessDriver
    group: IoGroup
    tiers: Tiers

    def rates(self) -> list[float]:
        lines = (self.directory / "log").read_text().splitlines() if (self.directory / "log").exists() else []
        return [float(line) for line in lines]

    def more(self, count: int = 1) -> list[float]:
        """The next so many rates."""
        before = len(self.rates())
        return wait_until(
            lambda: found if len(found := self.rates()[before:]) >= count else None, what="more parts read", within=60
        )

    def end(self) -> Exited:
        (self.directory / "work" / "enough").touch()
        ended = finished(self.driver, self.directory)
        assert isinstance(ended, Exited)
        return ended


@pytest.fixture
def reading(tmp_path: Path, disk: Path) -> Iterator[Reading]:
    isolation = detect(tmp_path / "state", None)
    group = isolation.limits.io if isolation.limits else None
    if group is None or group.by != "blkio":
        pytest.skip("control groups limit no disks here")
    driver = ProcessDriver(isolation=isolation)
    assert driver.capabilities().io_limits == "blkio"
    directory = tmp_path / "state" / "placements" / "p1"
    desired = a_placement("p1", command=(sys.executable, str(READER), str(disk / "file")))
    prepare(directory, desired, server="http://mill", code=None, inputs={}, renewed=boot_time())
    tiers = Tiers(group)
    tiers.apply("v", disk, 16 * MB)
    driver.start(directory)
    found = Reading(directory, driver, group, tiers)
    yield found
    if not isinstance(driver.status(directory), Exited):
        found.end()
    driver.forget(directory)
    tiers.end()
    assert not group.directory.exists(), "nothing is left of the group"


def limits_of(group: IoGroup) -> str:
    return (group.directory / "blkio.throttle.read_bps_device").read_text().strip()


def test_a_reader_with_a_file_open_gets_the_new_limit_and_no_error(reading: Reading, disk: Path) -> None:
    (device,) = block_devices(disk).numbers
    reading.more()
    assert limits_of(reading.group) == f"{device} {16 * MB}"
    assert (reading.group.directory / "cgroup.procs").read_text().split(), "the job is in the group"
    seen = reading.tiers.apply("v", disk, 64 * MB)
    assert (seen.by, seen.bytes_per_second, seen.problem) == ("blkio", 64 * MB, None)
    assert limits_of(reading.group) == f"{device} {64 * MB}"
    reading.more()
    assert reading.tiers.apply("v", disk, None).bytes_per_second is None
    assert limits_of(reading.group) == ""
    reading.more()
    assert reading.end().exit_code == 0


@pytest.mark.long
def test_a_higher_tier_is_seen_by_the_reader_as_more_throughput(reading: Reading, disk: Path) -> None:
    """Four times the limit. Asserted loosely: others use this machine, too."""
    slow = reading.more(6)[2:]
    reading.tiers.apply("v", disk, 64 * MB)
    changed = time.monotonic()
    reading.more(2)
    assert time.monotonic() - changed < 10
    fast = reading.more(8)
    # Of all of them: a reader that had to wait for the processor finds its next part read already.
    assert harmonic_mean(slow) < 1.5 * 16 * MB
    assert 2 < sorted(fast)[len(fast) // 2] / sorted(slow)[len(slow) // 2] < 8
    assert reading.end().exit_code == 0


def test_volumes_on_one_disk_have_the_lowest_rate(reading: Reading, disk: Path) -> None:
    other = reading.tiers.apply("w", disk / "volume", 8 * MB)
    assert (other.bytes_per_second, other.problem) == (8 * MB, None)
    first = reading.tiers.apply("v", disk, 16 * MB)
    assert first.bytes_per_second == 8 * MB
    assert "another volume" in (first.problem or "")
    reading.tiers.forget("w")
    assert limits_of(reading.group).endswith(f" {16 * MB}")


def test_without_a_disk_the_tier_is_told_only(tmp_path: Path) -> None:
    found = Tiers(IoGroup(tmp_path / "group", "blkio")).apply("v", Path("/proc"), 1000)
    assert found.by == "none"
    assert "on a proc file system without a disk" in (found.problem or "")
    assert Tiers(None).apply("v", tmp_path, 1000).by == "none"


# With a server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path / "data") as running:
        yield running


def ask(server: RunningServer, method: str, path: str, status: int = 200, **options: Any) -> Any:
    answer = server.admin.request(method, path, **options)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_an_agent_says_what_enforces_a_tier_and_follows_its_changes(server: RunningServer, disk: Path) -> None:
    with ExitStack() as stack:
        site = CacheSite(disk.parent, server, stack, ["gpu"], disk / "volume")

        def in_force() -> int | None:
            kept = site.row()["tier_enforced"]
            return kept["bytes_per_second"] if kept and kept["by"] == "blkio" else None

        first = wait_until(lambda: site.row()["tier_enforced"], what="the agent's word", within=60)
        if first["by"] == "none":
            pytest.skip(first["problem"])
        ask(server, "PUT", "/tiers/standard", json={"bytes_per_second": 20 * MB})
        wait_until(lambda: in_force() == 20 * MB, what="the standard tier", within=60)
        ask(server, "PATCH", "/volumes/shared", json={"tier": "premium"})
        wait_until(lambda: in_force() == 80 * MB, what="the premium tier, four times as fast", within=60)
        assert site.row()["tier_rate"] == 80 * MB
        ask(server, "PUT", "/tiers/premium", json={"bytes_per_second": 50 * MB})
        wait_until(lambda: in_force() == 50 * MB, what="the rate that the tier has itself", within=60)
        ask(server, "DELETE", "/tiers/premium", 204)
        ask(server, "DELETE", "/tiers/standard", 204)
        wait_until(lambda: site.row()["tier_enforced"]["bytes_per_second"] is None, what="no limit", within=60)


def test_tiers_are_set_listed_and_removed(server: RunningServer) -> None:
    a_volume(server.deps, an_agent(server.deps))
    found = {one["name"]: one for one in ask(server, "GET", "/tiers")["items"]}
    assert [(name, one["throughput"], one["rate"]) for name, one in found.items()] == [
        ("standard", 1, None),
        ("premium", 4, None),
        ("ultra", 8, None),
    ]
    assert ask(server, "PUT", "/tiers/cold", json={"throughput": 0.5, "price": 0.2})["rate"] is None
    ask(server, "PUT", "/tiers/standard", json={"bytes_per_second": 100 * MB})
    volume = ask(server, "PATCH", "/volumes/nfs", json={"tier": "cold"})
    assert (volume["tier_throughput"], volume["tier_price"], volume["tier_rate"]) == (0.5, 0.2, 50 * MB)
    refused = ask(server, "DELETE", "/tiers/cold", 409)
    assert refused["detail"] == "Tier 'cold' is that of nfs."
    ask(server, "PUT", "/tiers/cold", json={"throughput": 0.25})
    assert ask(server, "GET", "/volumes/nfs")["tier_rate"] == 25 * MB
    ask(server, "PATCH", "/volumes/nfs", json={"tier": "ultra"})
    assert ask(server, "GET", "/volumes/nfs")["tier_rate"] == 800 * MB
    ask(server, "DELETE", "/tiers/cold", 204)
    ask(server, "DELETE", "/tiers/cold", 404)


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("PATCH", "/volumes/nfs", {"tier": "fast"}, "Tier 'fast' does not exist."),
        ("PATCH", "/volumes/nfs", {"tier_by": "cloud:x"}, "no plug-in 'cloud'"),
        ("PATCH", "/volumes/nfs", {"tier_by": "command:away"}, "no executable 'away'"),
        ("PUT", "/tiers/x", {"bytes_per_second": 0}, "bytes_per_second"),
        ("PUT", "/tiers/No Name", {"throughput": 2}, "No Name"),
    ],
)
def test_what_cannot_be_is_refused(server: RunningServer, method: str, path: str, body: Any, words: str) -> None:
    a_volume(server.deps, an_agent(server.deps))
    before = ask(server, "GET", "/volumes/nfs")
    answer = server.admin.request(method, path, json=body)
    assert answer.status_code in (400, 404, 422)
    assert words in answer.text
    assert ask(server, "GET", "/volumes/nfs") == before


def test_a_program_sets_the_tier_and_its_failure_is_shown(server: RunningServer) -> None:
    a_volume(server.deps, an_agent(server.deps))
    folder = server.deps.settings.tier_commands
    folder.mkdir()
    (folder / "array").write_text('#!/bin/sh\necho "$MILL_TIER" >> told\ntest -e broken && exit 1\necho 7000\n')
    (folder / "array").chmod(0o755)
    ask(server, "PATCH", "/volumes/nfs", json={"tier": "premium", "tier_by": "command:array"})

    def enforced() -> dict[str, Any]:
        tier_service.set_all(server.deps, server.deps.clock.now())
        found: dict[str, Any] = ask(server, "GET", "/volumes/nfs")["tier_enforced"]
        return found

    assert enforced() == {"by": "plugin", "bytes_per_second": 7000, "problem": None}
    enforced()
    assert (folder / "told").read_text() == "premium\n", "it is called when there is something to change"
    (folder / "broken").touch()
    ask(server, "PATCH", "/volumes/nfs", json={"tier": "standard"})
    assert enforced()["problem"] == "Not set: `array` failed with exit code 1: no message"
    ask(server, "PATCH", "/volumes/nfs", json={"tier_by": ""})
    assert ask(server, "GET", "/volumes/nfs")["tier_by"] is None
